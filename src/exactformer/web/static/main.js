// The page: the address says what is shown.

import { h, problem } from "./dom.js";
import { Certified } from "./certified.js";
import { checkView } from "./check.js";
import { homeView } from "./home.js";
import { Pass } from "./pass.js";
import { read } from "./route.js";
import { openStore } from "./store.js";

const store = openStore();
const pass = new Pass(store);
const certified = new Certified(store);
const PAGES = { "": "home", check: "check", certified: "certified" };
let shown = null;

async function show() {
  const route = read();
  const page = (store.pages && PAGES[route.source]) || "pass";
  mark(route.source);
  if (page !== "certified") certified.stop();
  if (page === "pass") {
    place(pass.element, page);
    await pass.show(route);
  } else {
    pass.walk?.stop();
    try {
      if (page === "certified") {
        place(certified.element, page);
        await certified.show(route);
        return;
      }
      const view = page === "home" ? await homeView(store) : shown === "check" ? null : checkView(store);
      if (view && read().source === route.source) place(view, page);
    } catch (error) {
      place(h("main", { id: "main", tabindex: -1 }, problem(error.message)), page);
    }
  }
}

function place(view, page) {
  const old = document.getElementById("main");
  if (old !== view) old.replaceWith(view);
  if (shown !== null && shown !== page) view.focus({ preventScroll: true });
  if (shown !== page) scrollTo(0, 0);
  if (page !== "pass") document.title = "exactformer";
  shown = page;
}

function mark(source) {
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.getAttribute("href") === `#${source}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

document.querySelector(".skip-link").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # is the address of what is shown
  document.getElementById("main").focus();
});
addEventListener("hashchange", show);
addEventListener("popstate", show);
addEventListener("address", show);
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, summary, [contenteditable]")) return;
  if (shown === "pass") pass.walk?.pressed(event);
});
show();
if (store.live) offer();

/** A page for the model, where one was given at the start. */
async function offer() {
  const { model } = await store.get("about");
  if (!model) return;
  document.querySelector(".top nav").append(h("a", { href: "#certified" }, "Certified"));
  mark(read().source);
}

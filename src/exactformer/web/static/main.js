// The page: the address says what is shown.

import { h, problem } from "./dom.js";
import { Certified } from "./certified.js";
import { checkView } from "./check.js";
import { learn } from "./glossary.js";
import { homeView } from "./home.js";
import { lessonView } from "./lesson.js";
import { Pass } from "./pass.js";
import { read } from "./route.js";
import { openStore } from "./store.js";
import { ModelWalk } from "./walked.js";

const store = openStore();
const pass = new Pass(store);
const certified = new Certified(store);
const walked = new ModelWalk(store);
const PAGES = new Map([
  ["", "home"],
  ["check", "check"],
  ["certified", "certified"],
  ["lesson", "lesson"],
]);
let shown = null;
if (!store.live && !location.hash && store.held.at) history.replaceState(null, "", store.held.at); // where it was written

async function show() {
  const route = read();
  const named = (store.pages && PAGES.get(route.source)) || "pass";
  const page = named === "certified" && route.view === "walk" ? "walk" : named;
  mark(route.source);
  if (page !== "certified") certified.stop();
  if (page === "pass") {
    place(pass.element, page);
    await learn(store);
    await pass.show(route);
  } else {
    pass.left();
    if (page !== "walk") walked.walk?.stop();
    try {
      if (page === "walk") {
        place(walked.element, page);
        await walked.show(route);
        return;
      }
      if (page === "certified") {
        place(certified.element, page);
        await certified.show(route);
        return;
      }
      if (page === "lesson") {
        const view = await lessonView(store, route);
        if (JSON.stringify(read()) === JSON.stringify(route)) place(view, `lesson ${location.hash}`);
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
  if (!["pass", "walk"].includes(page) && !page.startsWith("lesson")) document.title = "exactformer";
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
  const walking = { pass, walk: walked }[shown];
  if (event.defaultPrevented || event.altKey || !walking) return;
  if (event.target.closest("input:not([type=range]), select, textarea, [contenteditable]")) return;
  if (event.ctrlKey || event.metaKey) {
    if (shown === "pass" && event.key.toLowerCase() === "z" && !event.shiftKey && pass.undo()) event.preventDefault();
  } else if (!event.target.closest("input, summary")) walking.walk?.pressed(event);
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

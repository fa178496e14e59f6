// The walk through a pass, step by step: the picture, the step, the number that is open, and the controls.

import { announce, button, h, problem, scrolling } from "./dom.js";
import { diagram } from "./diagram.js";
import { moved } from "./flow.js";
import { short } from "./book.js";
import { numberPanel } from "./number.js";
import { address, go, readCount, readNumber, writeNumber } from "./route.js";
import { StepView } from "./step.js";
import { stageOf, stages } from "./stages.js";
import { legend } from "./values.js";

const PACE = 1800; // milliseconds of a step while playing
const SWIPE = 60; // pixels
const [LARGEST, SMALLEST, BAR] = [40, 16, 76]; // pixels of letters when presenting, and of the bar below
const PATIENCE = 250; // milliseconds after which a step that is not here yet says that it is being computed

export class Walk {
  /** `steps` are walked in order; `edit` changes a weight, where that can be done. */
  constructor(book, steps, { backward = false, edit = null }) {
    Object.assign(this, { book, steps, backward, edit });
    this.stages = stages(book.forward);
    this.trail = []; // numbers that were open before this one
    this.picture = scrolling(h("div", { class: "picture" }), "The pipeline");
    this.stage = h("div", { class: "stage-box" });
    const hint = "Click any number to see its formula, its proved digits, how it was computed and where it came from.";
    this.legend = h("div", { class: "marks" }, h("p", { class: "hint" }, hint), legend());
    this.panel = scrolling(h("aside", { class: "panel", "aria-label": "The open number" }));
    this.controls();
    this.element = h(
      "div",
      { class: "walk" },
      h(
        "details",
        { class: book.tokens.length > 4 ? "map many" : "map", open: !matchMedia("(max-width: 900px)").matches },
        h("summary", {}, "The pipeline"),
        this.picture,
      ),
      h("div", { class: "stage-column" }, this.stage, this.legend),
      this.panel,
      this.bar,
    );
    this.stage.addEventListener("touchstart", (event) => this.touched(event), { passive: true });
    this.stage.addEventListener("touchend", (event) => this.released(event), { passive: true });
  }

  controls() {
    const last = this.steps.length - 1;
    this.scrubber = h("input", {
      type: "range",
      min: 0,
      max: last,
      step: 1,
      "aria-label": "Step",
      oninput: (event) => this.to(Number(event.target.value)),
    });
    this.previous = button("←", () => this.by(-1), { "aria-label": "Previous step", title: "Previous step (←)" });
    this.next = button("→", () => this.by(1), { "aria-label": "Next step", title: "Next step (→)", class: "primary" });
    this.player = button("▶", () => this.play(), { "aria-label": "Play", title: "Play (p)" });
    this.place = h("span", { class: "progress" });
    this.bar = h(
      "div",
      { class: "controls", role: "group", "aria-label": "Steps" },
      this.previous,
      this.player,
      this.next,
      this.scrubber,
      this.place,
    );
  }

  /** Draw what the address says. */
  async show(route) {
    this.route = route;
    const found = this.steps.findIndex((step) => step.name === route.step);
    const number = readNumber(route.number);
    const at = Math.max(found, 0);
    const step = this.steps[at];
    const position = readCount(route.position, this.book.tokens.length);
    const head = readCount(route.head, this.book.model.heads) ?? 0;
    this.at = at;
    this.scrubber.value = at;
    this.scrubber.setAttribute("aria-valuetext", `${at + 1} of ${this.steps.length}: ${step.title}`);
    this.place.textContent = `${at + 1} / ${this.steps.length}`;
    this.previous.disabled = at === 0;
    this.next.disabled = at === this.steps.length - 1;
    const key = `${step.name} ${head} ${route.as}`;
    if (this.key !== key) {
      this.key = key;
      announce(`Step ${at + 1} of ${this.steps.length}: ${step.title}, ${step.name}`);
      await this.drawStep(step, head, position);
    }
    if (this.key !== key) return;
    this.view.light(number && this.holds(number) ? number : null, position);
    this.draw(step, position);
    await this.open(number);
    if (number && this.sought !== route.number) this.view.seek();
    this.sought = route.number;
  }

  holds({ name, index }) {
    const shape = this.book.step(name)?.shape;
    return Boolean(shape) && shape.length === index.length && index.every((n, axis) => n < shape[axis]);
  }

  /** What the address names and this pass has not, in a line. */
  missing({ step, number, head, position }) {
    if (step && !this.steps.some(({ name }) => name === step)) return `${step}: there is no such step here; this is the first one`;
    if (number && !(readNumber(number) && this.holds(readNumber(number)))) return `${number}: there is no such number here`;
    if (head && readCount(head, this.book.model.heads) === null) return `head ${head}: there is no such head here; this is head 0`;
    if (position && readCount(position, this.book.tokens.length) === null) return `position ${position}: there is no such position here`;
    return "";
  }

  async drawStep(step, head, position) {
    const { book } = this;
    const pattern = this.stages.flatMap((stage) => stage.steps).filter((name) => name.endsWith(".pattern"));
    const names = [step.name, ...step.reads, ...pattern];
    const key = this.key;
    const meant = () => this.key === key; // a reader in haste is at another step when the numbers of this one come
    const timer = setTimeout(() => meant() && this.stage.replaceChildren(computing(step)), PATIENCE);
    try {
      await Promise.all([book.need(names), book.base?.need(names.filter((name) => book.base.has(name)))]);
    } catch (error) {
      if (error.name !== "AbortError" && meant()) this.stage.replaceChildren(problem(error.message));
      return;
    } finally {
      clearTimeout(timer);
    }
    if (!meant()) return;
    this.view = new StepView(book, step, {
      head,
      position,
      as: this.route.as,
      base: book.base,
      open: (number) => this.opened(number),
      pick: (change) => this.go(change),
    });
    this.stage.replaceChildren(this.view.element);
    if (this.route.present) fit(this.stage);
    if (this.steps[this.at + 1]) book.need([this.steps[this.at + 1].name, ...this.steps[this.at + 1].reads]).catch(() => {});
  }

  draw(step, position) {
    const lit = stageOf(this.stages, step.name);
    const first = (stage) =>
      this.backward ? this.steps.find((each) => stage.steps.includes(each.name.slice(5)))?.name : stage.steps[0];
    const [old, before] = [this.picture.scrollTop, this.picture.firstElementChild];
    this.picture.replaceChildren(
      diagram(this.book, this.stages, {
        lit,
        position,
        backward: this.backward,
        to: ({ stage, position: at }) =>
          address({ ...this.route, step: first(stage) ?? step.name, number: undefined, position: at ?? this.route.position }),
      }),
    );
    this.picture.scrollTop = old;
    moved(before, this.picture.firstElementChild);
  }

  async open(number) {
    const name = writeNumber(number);
    if (this.shown === name) return;
    this.shown = name;
    this.element.classList.toggle("with-number", Boolean(number && this.holds(number)));
    if (!number || !this.holds(number)) {
      this.panel.replaceChildren();
      return;
    }
    try {
      const panel = await numberPanel(this.book, number, {
        open: (next) => this.opened(next),
        go: (step) => this.jump(step),
        back: this.trail.length ? () => this.goBack() : null,
        close: () => this.closed(),
        edit: this.edit,
      });
      if (this.shown !== name) return;
      this.panel.replaceChildren(panel);
      this.panel.scrollTop = 0;
      if (this.following) this.panel.querySelector("h2").focus({ preventScroll: true });
      announce(`${panel.querySelector("h2").textContent}`);
    } catch (error) {
      if (error.name !== "AbortError" && this.shown === name) this.panel.replaceChildren(problem(error.message));
    }
    this.following = false;
  }

  opened(number) {
    const before = readNumber(this.route.number);
    if (before) this.trail.push(this.route.number);
    this.following = this.panel.contains(document.activeElement);
    const known = this.steps.some((step) => step.name === number.name);
    const inView = this.view.matrices.some((matrix) => matrix.step.name === number.name);
    this.go({
      number: writeNumber(number),
      step: known && !inView ? number.name : this.steps[this.at].name,
      head: number.index.length === 3 ? number.index[0] : this.route.head,
    });
  }

  goBack() {
    const before = readNumber(this.trail.pop());
    this.following = true;
    const known = this.steps.some((step) => step.name === before.name);
    this.go({ number: writeNumber(before), step: known ? before.name : this.route.step });
  }

  closed() {
    this.trail = [];
    this.go({ number: undefined });
    this.stage.querySelector("button.n[tabindex='0']")?.focus();
  }

  jump(name) {
    if (this.steps.some((step) => step.name === name)) this.go({ step: name, number: this.route.number });
    else if (this.book.has(name)) this.go({ view: name.startsWith("grad.") ? "backward" : undefined, step: name });
  }

  go(change, replace = false) {
    go({ ...this.route, ...change }, replace);
  }

  to(n) {
    const step = this.steps[Math.max(0, Math.min(n, this.steps.length - 1))];
    if (step.name !== this.steps[this.at].name) this.go({ step: step.name, number: undefined }, true);
  }

  by(n) {
    this.trail = [];
    this.to(this.at + n);
  }

  play() {
    const playing = this.timer !== undefined;
    this.stop();
    if (playing) return;
    if (this.at === this.steps.length - 1) this.to(0);
    this.player.textContent = "❚❚";
    this.player.setAttribute("aria-label", "Pause");
    this.timer = setInterval(() => {
      if (!this.element.isConnected || this.at >= this.steps.length - 1) this.stop();
      else this.by(1);
    }, PACE);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.player.textContent = "▶";
    this.player.setAttribute("aria-label", "Play");
  }

  pressed(event) {
    const move = {
      ArrowRight: () => this.by(1),
      ArrowLeft: () => this.by(-1),
      Home: () => this.to(0),
      End: () => this.to(this.steps.length - 1),
      p: () => this.play(),
      Escape: () => (this.route.number || !this.route.present ? this.closed() : this.go({ present: undefined })),
    }[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }

  touched(event) {
    this.touch = event.target.closest(".scroll") ? null : [event.touches[0].clientX, event.touches[0].clientY];
  }

  released(event) {
    if (!this.touch) return;
    const [dx, dy] = [event.changedTouches[0].clientX - this.touch[0], event.changedTouches[0].clientY - this.touch[1]];
    if (Math.abs(dx) > SWIPE && Math.abs(dx) > 2 * Math.abs(dy)) this.by(dx < 0 ? 1 : -1);
  }
}

/** What is shown of a step before its numbers are here. */
function computing(step) {
  const title = step.op === "gradient" ? `gradient of ${short(step.name.slice(5))}` : step.title;
  return h(
    "article",
    { class: "step computing" },
    h("header", {}, h("p", { class: "eyebrow" }, step.name), h("h2", {}, title[0].toUpperCase() + title.slice(1))),
    h("p", { class: "working", role: "status" }, "Computing without rounding …"),
  );
}

/** Presenting: letters as large as the screen allows for this step, or, where it is too large for a screen, for what it computes. */
function fit(stage) {
  const result = stage.querySelector(".equation .matrix-box") ?? stage;
  const wide = () => [...stage.querySelectorAll(".scroll")].some((box) => box.scrollWidth > box.clientWidth);
  for (const last of [stage, result]) {
    for (let size = LARGEST; size >= SMALLEST; size -= 2) {
      stage.style.setProperty("--size", `${size}px`);
      if (last.getBoundingClientRect().bottom + scrollY <= innerHeight - BAR && !(last === stage && wide())) return;
    }
  }
}

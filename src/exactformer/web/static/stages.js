// The pipeline: consecutive steps gathered into the stages that people name, from tokens to token.

/** [{ key, label, block, steps: [name, …], reads: [name, …] }], in the order of the pass. */
export function stages(steps) {
  const found = [];
  let waiting = []; // steps that carry the stream on to the next stage
  for (const step of steps) {
    const [key, block] = place(step);
    const last = found.at(-1);
    if (key === "next") waiting.push(step.name);
    else if (key === "last" || last?.key === key) {
      last.steps.push(step.name);
      last.reads.push(...step.reads);
    } else {
      found.push({ key, label: step.stage, block, steps: [...waiting, step.name], reads: [...step.reads], op: step.op });
      waiting = [];
    }
  }
  if (waiting.length && found.length) found.at(-1).steps.push(...waiting);
  return found;
}

/** Where a step belongs: to a stage of its layer, or, where it only carries the stream on, to the one beside it. */
function place(step) {
  const [first, block, part] = step.name.split(".");
  if (!step.stage) return [part === "resid_pre" ? "next" : "last"];
  if (first !== "blocks") return [first, null];
  return part === "resid_pre" ? ["pos_embed", null] : [`${block}.${part}`, Number(block)];
}

/** The stage that a step, a gradient or a weight belongs to: a weight to the first that reads it. */
export function stageOf(found, name) {
  const bare = name.replace(/^grad\./, "");
  return (
    found.find((stage) => stage.steps.includes(bare)) ?? found.find((stage) => stage.reads.includes(bare)) ?? found[0]
  );
}

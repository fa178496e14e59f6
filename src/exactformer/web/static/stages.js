// The pipeline: consecutive steps gathered into the stages that people name, from tokens to token.

const NAMES = {
  attn: "attention",
  mlp: "MLP",
  ln1: "layernorm",
  ln2: "layernorm",
  resid_mid: "+ residual",
  resid_post: "+ residual",
};

/** [{ key, label, block, steps: [name, …] }], in the order of the pass. */
export function stages(steps) {
  const found = [];
  let waiting = []; // steps that carry the stream on to the next stage
  for (const step of steps) {
    const [key, label, block] = place(step);
    const last = found.at(-1);
    if (key === "next") waiting.push(step.name);
    else if (key === "last" || last?.key === key) last.steps.push(step.name);
    else {
      found.push({ key, label, block, steps: [...waiting, step.name], op: step.op });
      waiting = [];
    }
  }
  if (waiting.length && found.length) found.at(-1).steps.push(...waiting);
  return found;
}

function place(step) {
  const parts = step.name.split(".");
  if (parts[0] !== "blocks") {
    const labels = {
      embed: "embed",
      pos_embed: "+ position",
      ln_final: "layernorm",
      logits: "unembed",
      probs: "softmax",
      token: "argmax",
    };
    return [parts[0], labels[parts[0]] ?? parts[0], null];
  }
  const [, block, part] = parts;
  if (part === "resid_pre") return step.op === "add" ? ["pos_embed", "+ position", null] : ["next"];
  if (part.startsWith("resid") && step.op === "same")
    return step.reads[0].endsWith(".out") ? [`${block}.${part}`, "replace", Number(block)] : ["last"];
  return [`${block}.${part}`, NAMES[part] ?? part, Number(block)];
}

/** The stage that a step, a gradient or a weight belongs to. */
export function stageOf(found, name) {
  const bare = name.replace(/^grad\./, "");
  const direct = found.find((stage) => stage.steps.includes(bare));
  if (direct) return direct;
  const homes = { W_E: "embed", W_pos: "pos_embed", W_U: "logits", b_U: "logits" };
  const parts = bare.split(".");
  const key = parts[0] === "blocks" ? `${parts[1]}.${parts[2]}` : (homes[bare] ?? parts[0]);
  return found.find((stage) => stage.key === key) ?? found[0];
}

// Writes fixtures/v4a.json: texts, headerless diffs, and what `applyDiff` of @openai/agents-core makes of them.
// Where this crate differs on purpose, `why` names the reason and `ours` has the result that the rules below
// demand. They are written here once more, without an index and without a bound, so that they judge the crate.
// The seed is fixed, so a second run writes the same file. With two arguments it writes other cases elsewhere:
//
//   node crates/patch/tests/make-v4a-fixtures.mjs [seed count file]

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { applyDiff } from "@openai/agents-core";

const [seed = "20261123", count = "1000", file] = process.argv.slice(2);
let state = Number(seed);
/** A whole number under `limit` (mulberry32). */
function below(limit) {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
}
const pick = (list) => list[below(list.length)];

// --- texts and diffs ---

const SCOPES = ["class A:", "class B:", "  def f(self):", "  def g(self):", "fn main() {"];
const WORDS = ["}", "", "    return x", "  }", "a", "b", "\tif y:", "é", "-- sql", "+ 1", "@@", "    x = 1  "];

/** Few different lines, so that hunks fit in several places, or lines with numbers, so that they do not. */
function makeLines(size, plain) {
  return Array.from({ length: size }, (_, at) => {
    const line = below(4) ? pick(WORDS) : pick(SCOPES);
    return plain || SCOPES.includes(line) ? line : `${line.trimEnd()} ${at}`;
  });
}

const spaced = (line) => pick([line, line, `${line} `, `${line}\t`, line.trimEnd(), ` ${line}`, line.trim()]);

/** A diff of some ranges of `old`, with anchors, damage and decorations. */
function diffOf(old) {
  const out = [];
  const loose = below(3) === 0;
  let at = below(Math.max(1, old.length));
  if (below(3) === 0) at = 0;
  for (let hunk = 0; hunk < 1 + below(3) && at <= old.length; hunk += 1) {
    const length = Math.min(1 + below(6), old.length - at);
    if (hunk > 0 || below(6)) out.push(...anchors(old, at));
    for (let line = at; line < at + length; line += 1) {
      const text = loose && below(3) === 0 ? spaced(old[line]) : old[line];
      switch (below(6)) {
        case 0:
          out.push(`-${text}`);
          break;
        case 1:
          out.push(`-${text}`, `+${text} changed`);
          break;
        case 2:
          out.push(`+new ${below(9)}`, ` ${text}`);
          break;
        default:
          out.push(text === "" && below(2) ? "" : ` ${text}`);
      }
    }
    if (length <= 0 || below(25) === 0) out.push(`+appended ${below(9)}`);
    if (at + length === old.length ? below(3) === 0 : below(30) === 0) out.push("*** End of File");
    else if (below(20) === 0) out.push("");
    at = Math.max(0, at + length + below(4) - (below(8) ? 0 : 1));
  }
  if (below(12) === 0) out.splice(below(out.length + 1), below(2), pick([" other", "-other", "oops", "***", "*** x"]));
  return out;
}

function anchors(old, at) {
  const above = old.slice(0, at).filter((line) => SCOPES.includes(line));
  switch (below(7)) {
    case 0:
      return above.length > 0 ? [`@@ ${spaced(pick(above))}`] : ["@@"];
    case 1:
      return above.length > 0 ? [`@@ ${above.at(-1)}`] : ["@@"];
    case 2:
      return above.length > 1 ? [`@@ ${above.at(-2)}`, `@@ ${spaced(above.at(-1))}`] : ["@@"];
    case 3:
      return below(4) ? ["@@"] : [`@@ ${pick([...SCOPES, "not there"])}`];
    case 4:
      return below(6) ? ["@@"] : [`@@ ${pick(SCOPES)}`, `@@ ${pick(SCOPES)}`];
    default:
      return ["@@"];
  }
}

// --- the rules of this crate, and where they part from those of applyDiff ---

const LEVELS = [(line) => line, (line) => line.trimEnd(), (line) => line.trim()];

/** The hunks of a diff, or null if it is malformed. */
function parse(diff) {
  const all = diff.split("\n").map((line) => line.replace(/\r$/, ""));
  if (all.at(-1) === "") all.pop();
  const hunks = [];
  let headers = 0;
  for (const line of all) {
    const last = hunks.at(-1);
    if (line.startsWith("@@")) {
      if (line !== "@@" && !line.startsWith("@@ ")) return null;
      if (headers === 0) hunks.push({ anchors: [], body: [], eof: false, headers: 0 });
      headers += 1;
      hunks.at(-1).headers += 1;
      const anchor = line.slice(3);
      // What closes a header is no part of its line.
      const open = anchor.replace(/ *(?:^| )@@ *$/, "");
      if (open.trim() !== "") hunks.at(-1).anchors.push(open);
    } else if (line === "*** End of File") {
      if (!last || headers > 0 || last.eof) return null;
      last.eof = true;
    } else if (line === "" && (!last || last.eof)) {
      continue;
    } else if (/^[ +-]|^$/.test(line)) {
      if (last?.eof) return null;
      if (!last) hunks.push({ anchors: [], body: [], eof: false, headers: 0 });
      hunks.at(-1).body.push({ sign: line[0] ?? " ", text: line.slice(1), bare: line === "" });
      headers = 0;
    } else return null;
  }
  return hunks.some((hunk) => hunk.body.length === 0) ? null : hunks;
}

const oldLines = (body) => body.filter((line) => line.sign !== "+");

function withoutBlankEnd(body) {
  let end = body.length;
  while (end > 0 && body[end - 1].bare) end -= 1;
  return body.slice(0, end);
}

/** What this crate makes of a diff: `{ text, why }`, without a text if it refuses. `why` is absent where the rules are those of applyDiff. */
function ours(text, diff) {
  const hunks = parse(diff);
  let why = /^\r?\n/.test(diff) ? "blank lines before the first hunk" : undefined;
  if (hunks === null) return { why };
  if (hunks.some((hunk) => hunk.body.every((line) => line.bare))) return { why: why ?? "no change" };
  if (hunks.every((hunk) => hunk.body.every((line) => line.sign === " "))) return { why: why ?? "no change" };
  const terminated = text === "" || text.endsWith("\n");
  const content = text.split("\n");
  if (terminated) content.pop();
  const cr = content.length > 0 && content.every((line, at) => line.endsWith("\r") || (!terminated && at === content.length - 1));
  const own = cr && text.includes("\n") ? content.map((line) => line.replace(/\r$/, "")) : content;
  const edits = [];
  let floor = 0;
  let cursor = 0;
  if (text === "") why ??= "empty file";
  for (const hunk of hunks) {
    const found = find(own, terminated, hunk, floor, cursor);
    why ??= found.why;
    if (found.at === undefined) return { why };
    let at = found.at;
    const trailing = found.body.length - (found.body.findLastIndex((line) => line.sign !== " ") + 1);
    for (const line of found.body) {
      if (line.sign === "+") edits.push({ at, text: line.text });
      else {
        if (line.sign === "-") edits.push({ at });
        at += 1;
      }
    }
    floor = Math.max(floor, at - trailing);
    cursor = at;
  }
  const out = [];
  for (let at = 0; at <= own.length; at += 1) {
    const here = edits.filter((edit) => edit.at === at);
    out.push(...here.flatMap((edit) => edit.text ?? []));
    if (at < own.length && !here.some((edit) => edit.text === undefined)) out.push(own[at]);
  }
  return { why, text: out.join(cr && text.includes("\n") ? "\r\n" : "\n") + (terminated && out.length > 0 ? (cr ? "\r\n" : "\n") : "") };
}

/** Where a hunk goes: `{ at, body, why }`, without a place if it is refused. */
function find(own, terminated, hunk, floor, cursor) {
  const old = oldLines(hunk.body);
  const named = (anchor, from) => {
    const at = (same) => own.findIndex((line, index) => index >= from && same(line));
    const exact = at((line) => line === anchor);
    return exact >= 0 ? exact : at((line) => line.trim() === anchor.trim());
  };
  const repeats = (anchor) => old.some((line) => line.text.trim() === anchor.trim());
  const chain = [...hunk.anchors];
  let why;
  while (chain.length > 0 && repeats(chain.at(-1))) {
    chain.pop();
    why = "anchor repeated as context";
  }
  const every = own.flatMap((line, at) => (line === chain[0] ? [at] : []));
  const starts = every.length > 0 ? every : own.flatMap((line, at) => (line.trim() === chain[0]?.trim() ? [at] : []));
  const ends = new Set();
  for (const start of starts) {
    let at = start;
    for (const anchor of chain.slice(1)) at = at < 0 ? -1 : named(anchor, at + 1);
    if (at >= 0) ends.add(at + 1);
  }
  const areas = [...ends];
  if (chain.length > 0 && areas.length === 0) {
    if (hunk.headers > 1 || old.length === 0) return { why: old.length === 0 ? "added lines without a place" : why };
  }
  // A section named again below its own hunk is looked for further down by applyDiff.
  if (areas.length > 0 && hunk.anchors.length > 1 && Math.min(...areas) <= cursor && cursor > 0) why ??= "anchors above the hunk before";
  if (old.length === 0) {
    if (hunk.eof || own.length === 0) return { at: own.length, body: hunk.body, why };
    if (areas.length === 0) return { why: why ?? "added lines without a place" };
    if (areas.length > 1) return { why: why ?? "several places" };
    if (areas[0] < floor) return { why: why ?? "anchors above the hunk before" };
    if (areas[0] < cursor) why ??= "anchors above the hunk before";
    return { at: areas[0], body: hunk.body, why };
  }
  if (old.every((line) => line.bare)) return { why: why ?? "added lines without a place" };

  const fits = (lines, at, level, limit) =>
    at >= 0 &&
    at + lines.length <= limit &&
    lines.every((line, offset) => {
      const other = at + offset < own.length ? own[at + offset] : "";
      return LEVELS[level](line.text) === LEVELS[level](other);
    });
  const bodies = [hunk.body];
  const trimmed = withoutBlankEnd(hunk.body);
  if (trimmed.length < hunk.body.length) bodies.push(trimmed);
  if (hunk.eof) {
    for (const body of bodies) {
      const lines = oldLines(body);
      const at = own.length - lines.length;
      if (at >= floor && [0, 1, 2].some((level) => fits(lines, at, level, own.length))) {
        if (body !== hunk.body) why ??= "blank lines after a hunk";
        if (at < cursor) why ??= "shared context";
        return { at, body, why };
      }
      if (at < floor && [0, 1, 2].some((level) => fits(lines, at, level, own.length))) why ??= "end of the file changed above";
    }
  }
  for (const body of bodies) {
    const lines = oldLines(body);
    if (lines.length === 0) continue;
    for (const level of [0, 1, 2]) {
      const last = body.at(-1);
      const blank = last.sign === " " && LEVELS[level](last.text) === "";
      const limit = own.length + (blank && terminated && !hunk.eof ? 1 : 0);
      const from = (start) => {
        for (let at = Math.max(start, floor); at <= own.length; at += 1) if (fits(lines, at, level, limit)) return at;
      };
      const first = from(areas.length > 0 ? Math.min(...areas) : 0);
      if (first === undefined) continue;
      const others = areas.length > 0 ? areas.filter((area) => area > first).map(from) : [from(first + 1)];
      if (others.some((other) => other !== undefined)) return { why: why ?? "several places" };
      if (body !== hunk.body) why ??= "blank lines after a hunk";
      if (first < cursor) why ??= "shared context";
      return { at: first, body, why };
    }
  }
  // The blank after the final newline is a line for applyDiff, which can be removed or changed.
  const lines = oldLines(hunk.body);
  const past = own.length + 1;
  for (let at = 0; at < (terminated ? past : 0); at += 1) {
    if (at + lines.length === past && [0, 1, 2].some((level) => fits(lines, at, level, past))) why ??= "blank after the final newline";
  }
  return { why };
}

function theirs(text, diff) {
  try {
    return applyDiff(text, diff);
  } catch {
    return null;
  }
}

const cases = [];
// So many cases in which both do the same, and as many others as come up.
for (let alike = 0; alike < Number(count);) {
  const old = makeLines(below(24), below(2) === 0);
  const eol = pick(["\n", "\n", "\n", "\r\n"]);
  const text = old.join(eol) + (old.length > 0 && below(5) ? eol : "");
  const diff = diffOf(old).join(pick(["\n", "\n", "\n", "\r\n"])) + pick(["\n", ""]);
  const expected = theirs(text, diff);
  const { why, text: result = null } = ours(text, diff);
  const one = { file: text, diff, expected };
  const differs = why !== undefined && result !== expected;
  cases.push(differs ? { ...one, ours: result, why } : one);
  alike += differs ? 0 : 1;
}
const target = file ?? fileURLToPath(new URL("fixtures/v4a.json", import.meta.url));
writeFileSync(target, `[\n${cases.map((one) => JSON.stringify(one)).join(",\n")}\n]\n`);

const tally = new Map();
for (const one of cases) {
  const kind = one.why ?? (one.expected === null ? "both refuse" : "same text");
  tally.set(kind, (tally.get(kind) ?? 0) + 1);
}
console.log(Object.fromEntries(tally));

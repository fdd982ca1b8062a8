// Writes fixtures/jsdiff.json and fixtures/git.json: texts, patches, and what jsdiff's applyPatch and
// `git diff` say the result is. The seed is fixed, so a second run writes the same files.
//
//   node crates/patch/tests/make-fixtures.mjs

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyPatch, createTwoFilesPatch } from "diff";

let state = 20261120;
/** A whole number under `limit` (mulberry32). */
function below(limit) {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
}
const pick = (list) => list[below(list.length)];

const WORDS = ["}", "", "  return x;", "-- sql", "++ i", "é", "\tif (y) {", "@@ -1 +1 @@", "\\ no", "a", "b", "c"];

function lines(count) {
  return Array.from({ length: count }, () => pick(WORDS) + (below(3) ? "" : ` ${below(20)}`));
}

/** Some lines replaced, removed and inserted. */
function edited(old) {
  const out = old.flatMap((line) => {
    switch (below(9)) {
      case 0:
        return [];
      case 1:
        return [`${line} changed`];
      case 2:
        return [line, ...lines(1 + below(2))];
      default:
        return [line];
    }
  });
  return below(4) ? out : [...lines(1), ...out];
}

function joined(list, eol) {
  const text = list.join(eol);
  return below(4) && list.length > 0 ? text + eol : text;
}

function jsdiff(file, patch) {
  try {
    const result = applyPatch(file, patch);
    return result === false ? null : result;
  } catch {
    return null;
  }
}

function pair() {
  const eol = pick(["\n", "\n", "\r\n"]);
  const old = lines(below(18));
  return { old: joined(old, eol), now: joined(edited(old), eol), eol };
}

const cases = [];
const add = (kind, file, patch) => cases.push({ kind, file, patch, expected: jsdiff(file, patch) });
const patchOf = (old, now, context) => createTwoFilesPatch("a/f", "b/f", old, now, undefined, undefined, { context });

while (cases.length < 80) {
  const { old, now } = pair();
  if (old !== now) add("made", old, patchOf(old, now, below(5)));
}
while (cases.length < 130) {
  const { old, now, eol } = pair();
  const context = 1 + below(4);
  if (old === "" || now === "" || old === now) continue;
  add("shifted", lines(1 + below(6)).join(eol) + eol + old, patchOf(old, now, context));
}
while (cases.length < 180) {
  const { old, now } = pair();
  const other = old.split("\n");
  if (old === now || other.length < 4) continue;
  other.splice(below(other.length - 1), 1, ...(below(2) ? [] : ["something else"]));
  add("damaged", other.join("\n"), patchOf(old, now, 1 + below(4)));
}
while (cases.length < 210) {
  const { old, now } = pair();
  const text = (eol) => (string) => string.replaceAll(/\r?\n/g, eol);
  const [from, to] = below(2) ? ["\n", "\r\n"] : ["\r\n", "\n"];
  if (old === now || !old.includes("\n")) continue;
  add("endings", text(to)(old), patchOf(text(from)(old), text(from)(now), 3));
}
const NONE = "\\ No newline at end of file";
for (const [file, patch] of [
  ["", "@@ -0,0 +1,2 @@\n+a\n+b\n"],
  ["x\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"],
  ["x", "@@ -0,0 +1,2 @@\n+a\n+b\n"],
  ["a\nb", "@@ -2 +2 @@\n-b\n+c\n"],
  ["a\nb\n", "@@ -2 +2 @@\n-b\n+c\n"],
  ["a\nb", "@@ -1,2 +1 @@\n a\n-b\n"],
  ["a\nb", `@@ -1,2 +1 @@\n a\n-b\n${NONE}\n`],
  ["a\nb", `@@ -2 +2 @@\n-b\n${NONE}\n+b\n`],
  ["a\nb\n", `@@ -2 +2 @@\n-b\n${NONE}\n+b\n`],
  ["a\nb\n", `@@ -2 +2 @@\n-b\n+b\n${NONE}\n`],
  ["a\nb", `@@ -2 +2 @@\n-b\n+c\n${NONE}\n`],
  ["a\nb", `@@ -2 +2 @@\n-b\n${NONE}\n+c\n${NONE}\n`],
  ["a\nb\n", `@@ -2 +2 @@\n-b\n${NONE}\n+c\n${NONE}\n`],
  ["a\nb\n", `@@ -1,2 +1,2 @@\n-a\n+A\n b\n${NONE}\n`],
  ["a\nb\n", "@@ -1,3 +1,3 @@\n a\n-b\n+c\n \n"],
  ["a\nb\nc\n", `@@ -1 +1 @@\n-a\n+A\n${NONE}\n@@ -3 +3 @@\n-c\n+C\n`],
  ["a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"],
  ["a\nb\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n c\n"],
  ["x\n1\n2\nx\n", "@@ -99 +99 @@\n-x\n+y\n"],
]) {
  add("written", file, patch);
}
// A short last hunk, which jsdiff refuses and we accept.
add("short", "a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+c\n");

const made = [];
const folder = mkdtempSync(join(tmpdir(), "patch-fixtures-"));
try {
  while (made.length < 60) {
    const { old, now } = pair();
    if (old === now) continue;
    writeFileSync(join(folder, "old"), old);
    writeFileSync(join(folder, "new"), now);
    const args = ["diff", "--no-index", "--no-color", "--no-ext-diff", `-U${1 + below(4)}`, "old", "new"];
    let patch = "";
    try {
      execFileSync("git", args, { cwd: folder, encoding: "utf8" });
    } catch (error) {
      patch = error.stdout;
    }
    made.push({ kind: "git", file: old, patch, expected: now });
  }
} finally {
  rmSync(folder, { recursive: true });
}

const save = (name, list) =>
  writeFileSync(
    new URL(`fixtures/${name}.json`, import.meta.url),
    `[\n${list.map((one) => JSON.stringify(one)).join(",\n")}\n]\n`,
  );
save("jsdiff", cases);
save("git", made);

#!/usr/bin/env node
// titlecase: {"text":"the old man"} gives {"text":"The Old Man"}.
//
// A lines handler in plain Node, 18 or later: one process, many jobs, one JSON
// object a line.

// Whatever is printed goes to the log; only say() writes to stdout.
console.log = console.info = console.debug = console.error;
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

// A line ends with LF. Node's readline also ends one at U+2028 and U+2029, which
// stand unescaped in JSON strings.
async function* lines(stream) {
  const parts = [];
  for await (let chunk of stream) {
    for (let end; (end = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(end + 1)) {
      parts.push(chunk.subarray(0, end));
      yield Buffer.concat(parts.splice(0)).toString("utf8");
    }
    parts.push(chunk);
  }
}

// A word is a run of letters, marks and digits, with the apostrophes inside it.
const word = /[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}\p{N}]+)*/gu;

function titlecase(text) {
  return text.replace(word, (w) => {
    const [first] = w; // a whole character, also beyond U+FFFF
    return first.toUpperCase() + w.slice(first.length).toLowerCase();
  });
}

say({ type: "ready", protocol: 1 });
for await (const line of lines(process.stdin)) {
  const message = JSON.parse(line);
  if (message.type !== "job") continue; // a cancel comes too late for work this short
  const { id, payload } = message;
  if (typeof payload?.text === "string") {
    say({ type: "done", id, result: { text: titlecase(payload.text) } });
  } else {
    say({ type: "dead", id, reason: 'payload: {"text":"…"} is expected' });
  }
}

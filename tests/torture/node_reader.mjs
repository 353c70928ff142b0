// Reads JSON texts, one per line in hexadecimal, with JSON.parse. Prints one line for each:
// "reject", or "accept" and the value in the spelling that cases.txt describes. JSON.parse
// takes a string, so the bytes are decoded first, strictly, and a byte order mark is kept.
import { readFileSync } from "node:fs";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function string(text) {
  let out = '"';
  for (let i = 0; i < text.length; ++i) {
    const unit = text.charCodeAt(i);
    const plain = unit >= 0x20 && unit < 0x7f && !'"\\<|'.includes(text[i]);
    out += plain ? text[i] : "\\u" + unit.toString(16).padStart(4, "0");
  }
  return out + '"';
}

function number(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  if (Number.isInteger(value) && Math.abs(value) <= 2 ** 64) return BigInt(value).toString();
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return "f:" + bytes.toString("hex");
}

function spelled(value) {
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return number(value);
  if (typeof value === "string") return string(value);
  if (Array.isArray(value)) return "[" + value.map(spelled).join(",") + "]";
  return "{" + Object.entries(value).map(([key, member]) => string(key) + ":" + spelled(member)).join(",") + "}";
}

function judge(bytes) {
  let value;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    return "reject";
  }
  return "accept " + spelled(value);
}

const lines = readFileSync(0, "latin1").split("\n").slice(0, -1);
process.stdout.write(lines.map((line) => judge(Buffer.from(line, "hex")) + "\n").join(""));

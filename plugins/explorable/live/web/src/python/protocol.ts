/** The typed messages between the page and the one worker that holds Python. Plain data only. */

import type { LoadedActs } from "./copy";
import type { Decisions, Gap, Value } from "../ledger/types";

export type { Gap, Value } from "../ledger/types";
export type Row = Record<string, Value | null>;

/** Mirrors live/runtime/contract.py: `State`. */
export interface State {
  context: string;
  controls: Record<string, Value>;
  prediction: Value | null;
  revealed: boolean;
  /** What the reader has typed or dragged and not locked in. */
  held: Value | null;
  /** Changes of controls that led here and were not undone; 0 for an act that does not list moves. */
  moves: number;
  /** Whether the reader has asked for a hint here. */
  hint: boolean;
  /** Where the controls stood when the reader's texts had been read; for reading more of them. */
  stood?: Record<string, Value>;
}

export interface Figure {
  label: string;
  value: string;
  unit: string;
}
export interface Failure {
  title: string;
  what: string;
  excess: string;
  remedy: string;
}
export interface Column {
  key: string;
  label: string;
  unit: string;
  numeric: boolean;
}
export interface Table {
  caption: string;
  columns: Column[];
  rows: Record<string, string>[];
  /** The text of a cell, and the page that it leads to, relative to the site's root. */
  links: Record<string, string>;
}
export interface Success {
  title: string;
  what: string;
  /** Without a tick it says where a goal would stand why nothing is judged yet. */
  marked: boolean;
}
export interface View {
  data: Record<string, Row[]>;
  headline: Figure;
  summary: string;
  tables: Record<string, Table>;
  failure: Failure | null;
  success: Success | null;
  /** A line for a shell that gives the headline; empty where none does. */
  command: string;
  /** Other numbers that a move may change, by name. */
  readings: Record<string, string>;
  /** What the act writes into the design ledger in this state. */
  ledger: Decisions;
  /** How good the state is; more is better. Null where it does not count, or the act keeps no score. */
  score: number | null;
  /** The score over the best that a search found. Null without a score, or where nobody searched. */
  share: number | null;
}
export interface Verdict {
  correct: boolean;
  headline: string;
  paragraphs: string[];
  tables: Record<string, Table>;
  gap: Gap;
}
/** Mirrors live/runtime/contract.py: what an act has understood of the texts that a reader gave it. */
export interface Heard {
  labels: string[];
  controls: Record<string, Value>;
  said: string[];
}
export interface Suggestion {
  title: string;
  text: string;
  controls: Record<string, Value>;
  worth: number;
  group: string;
}
/** What an act says besides its views: of texts that it reads, of changes that help (the first, or one more), of exports. */
export type Tell = "hear" | "rewrite" | "suggest" | "more" | "exports";

/** Per blank: is the reader's choice right, and the sentence that says why. */
export type Feedback = Record<string, { correct: boolean; why: string }>;

/** A trimmed traceback: the text to show and the 1-based line of the reader's code it points at, if any. */
export interface SnippetError {
  text: string;
  line: number | null;
}

/** A drawing that a snippet made, and what it is called; "" where it has no name. */
export interface Drawing {
  svg: string;
  name: string;
}

/** A data file of a snippet: where it lies, or what the reader has opened in its place. */
export type DataFile = { name: string; url: string } | { name: string; data: Uint8Array };

/** The tests of an exercise: those that the page shows, and others. */
export interface Tests {
  tests: string;
  hidden: string;
}

/** Mirrors plugins/explorable/live/runtime/exercises.py: what became of one test. */
export interface Check {
  label: string;
  hidden: boolean;
  passed: boolean;
  /** Of one that failed, what the reader's functions gave, or the error; and its line in the reader's code. */
  said: string;
  line: number | null;
}

/** Mirrors plugins/explorable/live/runtime/completions.py: what can stand at a place of the code, and the call that the place is in. */
export interface Completed {
  /** Where the name begins that an option replaces. */
  from: number;
  options: { label: string; kind: string }[];
  call: { signature: string; about: string } | null;
}

/** Module name -> the packages that importing it brings from other hosts, the hosts, and the addresses of the packages. */
export type Elsewhere = Record<string, { packages: string[]; hosts: string[]; urls: string[] }>;

/** A request that a running Python answers. */
export type Asked = Exclude<Request, { kind: "start" | "copy" }>;

/** Page -> worker. Every request to a running Python has an id, which its answers carry. */
export type Request =
  | { kind: "start"; release: Release; base: string; /** Of Python's memory, to begin with. */ copy: ArrayBuffer | null }
  | { kind: "copy"; release: Release; base: string; /** What shall be loaded in it. */ acts: LoadedActs }
  | { kind: "run"; id: number; page: string; name: string; source: string; /** Packages that other hosts may be asked for. */ foreign: readonly string[]; /** Did the code come with a link? */ linked?: boolean; /** Of an exercise: the code is tested, alone. */ tests?: Tests; /** What the code may open. */ files?: readonly DataFile[] }
  | { kind: "complete"; id: number; page: string; source: string; at: number }
  | { kind: "compute"; id: number; act: string; actUrl: string; state: State; /** Only what the eye follows of a moving hand? */ frame: boolean }
  | { kind: "reveal"; id: number; act: string; actUrl: string; state: State }
  | { kind: "tell"; id: number; act: string; actUrl: string; what: Tell; texts: readonly string[]; state: State }
  | { kind: "check"; id: number; act: string; actUrl: string; reflection: string; answers: Record<string, Value>; state: State };

/** Worker -> page. `alive` says only that bytes arrive. */
export type Response =
  | { kind: "alive" }
  | { kind: "progress"; label: string; loaded: number; total: number }
  | { kind: "ready"; /** Did it start from a copy? */ copied: boolean }
  | { kind: "copied"; bytes: ArrayBuffer }
  | { kind: "failed"; message: string; /** Did Pyodide's own program break down? */ broken: boolean }
  | { kind: "output"; id: number; text: string }
  | { kind: "ran"; id: number; result: string | null; error: SnippetError | null; figures: Drawing[]; /** The last value's own HTML, as a program gave it. */ html?: string | null; /** None where nothing was tested. */ checks?: Check[] }
  | { kind: "asks"; id: number; /** As the release names them, and the hosts that have them. */ packages: string[]; hosts: string[] }
  | { kind: "completed"; id: number; completed: Completed }
  | { kind: "answer"; id: number; /** Of the kind that was asked for. */ answer: View | Verdict | Feedback | object }
  | { kind: "problem"; id: number; message: string };

/** What the build writes into the entry, so that a document never meets the files of another release. */
export interface Release {
  /** The book's id: what readers keep in this browser begins with it. */
  book: string;
  ledger: LedgerFields;
  /** The site's version, and what differs whenever its programs do. */
  version: string;
  build: string;
  /** Seconds without a byte or a word after which a download or a start is given up. */
  patience: number;
  /** Pages of one document after which the next link loads its page in full. */
  pages: number;
  /** The chart runtime, beside the entry. */
  vega: string;
  runtime: RuntimeManifest;
}

/** What a book says of the ledgers of its readers. */
export interface LedgerFields {
  chapter: number;
  /** The rules of the fields that its acts write, in JSON Schema. */
  properties: Record<string, object>;
}

/** What the worker loads, with exact sizes for the progress bar. Addresses are relative to the entry. */
export interface RuntimeManifest {
  /** The engine's version with a fingerprint of its content. */
  engineVersion: string;
  /** Folder of the Pyodide core. */
  indexURL: string;
  /** The trimmed lock file that carries our wheels. */
  lockFileURL: string;
  /** What every start imports of Python's standard library, compiled and packed, and the rest of it. */
  library: { start: string; rest: string };
  /** Modules that are fetched when one of them is first imported; null for a book without any. */
  later: { archive: string; modules: string[] } | null;
  /** Names in the lock file to load at start: the engine and the live runtime. */
  packages: string[];
  /** What a start fetches besides Pyodide's modules, in the order of need. */
  first: string[];
  /** File name -> bytes of what a cold start fetches. */
  sizes: Record<string, number>;
  /** What the site does not have itself. */
  elsewhere: Elsewhere;
}

// The ledger's types. Written from ledger.schema.json by `npm run test:unit -- types -u`: change the schema, not this file.

/** Of an act, a control, a reflection or a blank. */
export type Name = string;
export type Line = string;
export type Text = string;
export type Lines = Line[];
export type Value = string | number | boolean;
export type Values = Record<string, Value>;
/** What acts write into the ledger's own fields. A `title`, a `unit` and the `names` of words are how a page shows them. */
export type Decisions = Record<string, Value | null>;
/** How far a prediction is off. */
export interface Gap {
  answer: number;
  /** Answer minus prediction, in the question's unit. */
  difference: number;
  /** The larger over the smaller; null where a ratio says nothing. */
  factor: number | null;
  /** Of the question. Ledgers written before it was kept have none. */
  unit?: Line;
  /** The answer, where words are chosen. Ledgers written before it was kept have none. */
  words?: Line;
}
/** Controls and their positions, in the words of the page. */
export type Settings = {
  label: Line;
  value: Line;
}[];
/** The number that matters, as it was shown; null until Python has computed it. */
export interface Amount {
  value: Line;
  unit: Line;
  /** Other numbers there. */
  readings?: Settings;
}
/** One change of one control, with the number that matters before it and after it. */
export interface Move {
  control: Name;
  from: Value;
  to: Value;
  before: Amount | null;
  after: Amount | null;
}
export interface Act {
  /** When the reader last did something. The newer of two entries of an act counts. */
  updated: Moment;
  /** Nothing locked in, locked in, answer seen, every reflection answered right. */
  stage: "none" | "predicted" | "revealed" | "done";
  memory: Memory;
  account: Account | null;
}
/** What the page needs to stand again as the reader left it. */
export interface Memory {
  prediction: string | number | boolean | null;
  context: Line;
  controls: Values;
  /** Whether the reader has moved an instrument since the lock. */
  explored: boolean;
  revealed: boolean;
  /** Reflection: blank: answer. */
  answers: Record<string, Values>;
  /** Reflections whose answers the reader has asked to check. */
  checked: Name[];
  /** Every change of a control that was not undone, for acts that list them; of very many the last. */
  moves: Move[];
  /** The first state reached that counts, for acts that keep a score. Moving on changes neither it nor the best. */
  first?: Mark;
  /** The best state reached. */
  best?: Mark;
  /** Reflection: when the answers that stand in it were found right. */
  right?: Record<string, Moment>;
  /** How many hints the reader has asked for. */
  hints?: number;
  /** What was locked in before the act was reset, which says whether the present prediction is the first. */
  earlier?: {
    /** Predictions locked in and reset. */
    attempts: number;
    /** The first of them, in the reader's words. */
    first: string;
    /** Whether an answer was seen. */
    revealed: boolean;
  };
  /** Of an exercise in code: what came of the reader's checks. */
  exercise?: {
    /** How often the tests ran. */
    tries: number;
    /** The code that was tested last; of code that is longer, the beginning. */
    code: string;
    /** When every test passed first. */
    solved?: Moment;
    /** When the reader first opened the solution. */
    opened?: Moment;
  };
  /** Why the reader chose what they chose, in their own words. */
  argument?: string;
}
/** Milliseconds since 1970, before 2100. */
export type Moment = number;
/** A state that the reader reached. */
export interface Mark {
  at: Moment;
  /** More is better. */
  score: number;
  /** The score over the best that a search over all settings found. */
  share?: number;
  headline: {
    label: Line;
    value: Line;
    unit: Line;
  };
  controls: Settings;
  /** What the act writes into the ledger's own fields. */
  fields: Decisions;
}
/** The same in the words and numbers the reader saw. Null where what was kept of them could not be read. */
export interface Account {
  title: Line;
  /** The page's address, relative to the site's root. */
  page: string;
  /** The engine that computed the numbers; empty while none did. */
  engine: Line;
  question: Text;
  prediction: string | null;
  context: Text;
  controls: Settings;
  /** The number that matters, in the final state. */
  headline: {
    label: Line;
    value: Line;
    unit: Line;
  } | null;
  /** The limit that the state exceeds. */
  failure: string | null;
  verdict: {
    correct: boolean;
    headline: Text;
    gap: Gap;
  } | null;
  moves: Lines;
  /** Sentences with the reader's words filled in; `correct` is null until they were checked. */
  reflections: {
    text: Text;
    correct: boolean | null;
  }[];
  /** What the act writes into the ledger's own fields. */
  fields: Decisions;
}

// The snippet's editor: hand-picked parts of CodeMirror 6, coloured by the page's Pygments classes.
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Annotation, EditorState, Prec, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, keymap, type DecorationSet } from "@codemirror/view";
import { tagHighlighter, tags } from "@lezer/highlight";
import { completion, type Complete } from "./completion";

interface EditorOptions {
  parent: HTMLElement;
  text: string;
  label: string;
  /** Id of the sentence that says how to leave the editor with the keyboard. */
  hintId: string;
  changed(text: string): void;
  run(): void;
  /** What can stand at a place of the text. */
  complete: Complete;
}

/** The code's metrics in the baked page, so that the editor can take its place without moving anything. */
export interface CodeMetrics {
  fontFamily: string;
  fontSize: string;
  lineHeight: string;
  padding: { top: string; right: string; bottom: string; left: string };
}

/** Marks what another tab wrote: to keep it again could take the place of what that one wrote since. */
const followed = Annotation.define<boolean>();
const setErrorLine = StateEffect.define<number | null>();

const errorLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setErrorLine)) continue;
      const line = effect.value;
      if (line === null || line < 1 || line > transaction.state.doc.lines) return Decoration.none;
      const mark = Decoration.line({ class: "il-error-line", attributes: { title: "The error is on this line" } });
      return Decoration.set(mark.range(transaction.state.doc.line(line).from));
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const pygments = tagHighlighter([
  { tag: tags.comment, class: "c1" },
  { tag: [tags.string, tags.special(tags.string)], class: "s2" },
  { tag: tags.escape, class: "se" },
  { tag: [tags.integer, tags.float, tags.number], class: "mi" },
  { tag: [tags.bool, tags.null], class: "kc" },
  { tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword], class: "k" },
  { tag: tags.moduleKeyword, class: "kn" },
  { tag: tags.operatorKeyword, class: "ow" },
  { tag: [tags.operator, tags.compareOperator, tags.arithmeticOperator, tags.definitionOperator], class: "o" },
  { tag: tags.function(tags.definition(tags.variableName)), class: "nf" },
  { tag: tags.definition(tags.className), class: "nc" },
  { tag: tags.meta, class: "nd" },
  { tag: [tags.punctuation, tags.bracket, tags.separator, tags.paren], class: "p" },
]);

export class Editor {
  readonly #view: EditorView;

  constructor(options: EditorOptions, metrics: CodeMetrics) {
    this.#view = new EditorView({
      parent: options.parent,
      state: EditorState.create({ doc: options.text, extensions: extensions(options, metrics) }),
    });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  set text(text: string) {
    this.#replace(text);
  }

  /** Shows what another tab wrote, and tells nobody that it has changed. */
  follow(text: string): void {
    this.#replace(text, [followed.of(true)]);
  }

  #replace(text: string, annotations: Annotation<boolean>[] = []): void {
    if (text === this.text) return;
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text }, annotations });
  }

  /** Marks a 1-based line; null takes the mark away. */
  markLine(line: number | null): void {
    this.#view.dispatch({ effects: setErrorLine.of(line) });
  }

  /** Focuses the text, with the caret at a point of the page if one is given. */
  focus(point?: { x: number; y: number }): void {
    const position = point ? this.#view.posAtCoords(point) : null;
    if (position !== null) this.#view.dispatch({ selection: { anchor: position } });
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }
}

function extensions(options: EditorOptions, metrics: CodeMetrics): Extension[] {
  return [
    history(),
    indentUnit.of("    "),
    indentOnInput(),
    bracketMatching(),
    pythonLanguage,
    syntaxHighlighting(pygments),
    errorLine,
    tabKey(),
    completion(options.complete),
    keymap.of([
      { key: "Mod-Enter", run: () => (options.run(), true) },
      { key: "Ctrl-Enter", run: () => (options.run(), true) },
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.contentAttributes.of({
      "aria-label": options.label,
      "aria-describedby": options.hintId,
      autocapitalize: "off",
      autocorrect: "off",
      spellcheck: "false",
      tabindex: "0",
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && !update.transactions.some((one) => one.annotation(followed))) options.changed(update.state.doc.toString());
    }),
    theme(metrics),
  ];
}

/** Tab walks on until the reader types; then it indents; Escape makes it walk on again. Nobody is trapped. */
function tabKey(): Extension {
  let typing = false;
  return [
    EditorView.updateListener.of((update) => {
      if (update.transactions.some((one) => one.isUserEvent("input") || one.isUserEvent("delete"))) typing = true;
    }),
    EditorView.domEventHandlers({
      blur() {
        typing = false;
      },
    }),
    // Whatever else Escape closes, it always makes Tab walk on.
    Prec.highest(keymap.of([{ key: "Escape", run: () => ((typing = false), false) }])),
    keymap.of([
      { key: "Tab", run: (view) => typing && indentMore(view), shift: (view) => typing && indentLess(view) },
    ]),
  ];
}

function theme({ fontFamily, fontSize, lineHeight, padding }: CodeMetrics): Extension {
  return EditorView.theme({
    "&": { fontFamily, fontSize, background: "transparent", color: "inherit" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily, lineHeight, overflowX: "auto" },
    ".cm-content": { padding: `${padding.top} 0 ${padding.bottom}`, caretColor: "currentcolor" },
    ".cm-line": { padding: `0 ${padding.right} 0 ${padding.left}` },
  });
}

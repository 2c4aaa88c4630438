// Completion and signatures in the editor, from the page's Python. Typing opens it after a point only; Control and Space anywhere.
import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { Prec, StateEffect, StateField, type EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, showTooltip, tooltips, type Tooltip } from "@codemirror/view";
import { h } from "../dom";
import type { Completed } from "../python/protocol";

/** Asks Python, which counts characters and not UTF-16 units; null while it cannot answer. */
export type Complete = (source: string, at: number) => Promise<Completed | null>;

interface Signature {
  at: number;
  call: NonNullable<Completed["call"]>;
}

const setSignature = StateEffect.define<Signature | null>();

const signature = StateField.define<Signature | null>({
  create: () => null,
  update(shown, transaction) {
    for (const effect of transaction.effects) if (effect.is(setSignature)) return effect.value;
    return shown && { ...shown, at: transaction.changes.mapPos(shown.at) };
  },
  provide: (field) => showTooltip.from(field, (shown) => shown && tooltipOf(shown)),
});

export function completion(complete: Complete): Extension {
  const ask = async (view: EditorView): Promise<void> => {
    const { state } = view;
    const at = state.selection.main.head;
    const call = (await asked(complete, state, at))?.call ?? null;
    // The reader may have typed on: what they type asks again.
    if (view.state !== state || (!call && !view.state.field(signature))) return;
    const told = view.state.field(signature)?.call.signature;
    const effects: StateEffect<unknown>[] = [setSignature.of(call && { at, call })];
    if (call && call.signature !== told) effects.push(EditorView.announce.of(`${call.signature}. ${call.about}`));
    view.dispatch({ effects });
  };
  return [
    // Before the list's own keys: Escape closes both.
    Prec.highest(keymap.of([{ key: "Escape", run: (view) => closeSignature(view) }])),
    autocompletion({
      override: [(context) => options(complete, context)],
      // Enter ends the line unless the reader has gone into the list.
      selectOnOpen: false,
      interactionDelay: 0,
      icons: false,
      tooltipClass: () => "il-complete",
    }),
    signature,
    // The snippet cuts off what leaves it.
    tooltips({ parent: document.body }),
    keymap.of([{ key: "Ctrl-Shift-Space", run: (view) => (void ask(view), true) }]),
    EditorView.domEventHandlers({ blur: (_, view) => void closeSignature(view) }),
    EditorView.updateListener.of(({ view, docChanged, selectionSet, transactions }) => {
      const typed = transactions.some((one) => one.isUserEvent("input.type"));
      const opens = typed && /[(,]/.test(view.state.sliceDoc(view.state.selection.main.head - 1, view.state.selection.main.head + 1));
      if (opens || ((docChanged || selectionSet) && view.state.field(signature))) void ask(view);
    }),
  ];
}

/** Takes the signature away. Says that nothing was done, so that the key goes on to others. */
function closeSignature(view: EditorView): boolean {
  if (view.state.field(signature)) view.dispatch({ effects: setSignature.of(null) });
  return false;
}

async function options(complete: Complete, context: CompletionContext): Promise<CompletionResult | null> {
  const { state, pos, explicit } = context;
  if (!explicit && state.sliceDoc(pos - 1, pos) !== ".") return null;
  const completed = await asked(complete, state, pos);
  if (!completed?.options.length || context.aborted) return null;
  return {
    from: completed.from,
    options: completed.options.map(({ label, kind }) => ({ label, detail: kind })),
    validFor: /^\w*$/,
  };
}

/** Asks in Python's way of counting characters, and answers in the editor's. */
async function asked(complete: Complete, state: EditorState, at: number): Promise<Completed | null> {
  const text = state.doc.toString();
  const before = [...text.slice(0, at)];
  const completed = await complete(text, before.length);
  return completed && { ...completed, from: before.slice(0, completed.from).join("").length };
}

function tooltipOf({ at, call }: Signature): Tooltip {
  return {
    pos: at,
    above: true,
    create: () => ({ dom: h("div", { class: "il-signature" }, h("code", {}, call.signature), ...(call.about ? [h("p", {}, call.about)] : [])) }),
  };
}

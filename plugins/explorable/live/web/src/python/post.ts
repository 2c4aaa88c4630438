// What a worker says to its page: one text for each message, which the page looks at before it makes anything of it.
//
// A browser unpacks what else a message holds before the page can see how much that is: eight million objects took it fifteen seconds.

interface Speaker {
  postMessage(message: unknown, transfer?: Transferable[]): void;
}

/** Characters of one message. */
export const MOST_SAID = 60_000_000;

/** Takes the way to the page from the worker, and leaves one for texts in its place. Returns one that can hand bytes over, too. */
export function makePost(scope: Speaker): Speaker["postMessage"] {
  const { apply, deleteProperty, getPrototypeOf } = Reflect;
  const { stringify } = JSON;
  const { postMessage: native } = scope;
  const say = (message: unknown): void => {
    const text = `${stringify(message)}`;
    if (text.length > MOST_SAID) throw new RangeError("the message is too long");
    apply(native, scope, [text]);
  };
  for (let place: object | null = scope; place; place = getPrototypeOf(place)) deleteProperty(place, "postMessage");
  scope.postMessage = say;
  return (message, transfer) => (transfer ? apply(native, scope, [message, transfer]) : say(message));
}

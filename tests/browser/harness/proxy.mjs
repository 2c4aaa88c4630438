// A proxy that refuses every request and writes it down. It is the browsers' only way out, so it sees all foreign requests.
// @ts-check
import { createServer } from "node:http";

/**
 * @typedef {object} RefusingProxy
 * @property {number} port
 * @property {string} address                 host:port
 * @property {() => string[]} asked           every foreign address asked for since the last `clear`
 * @property {() => void} clear
 * @property {() => Promise<void>} close
 */

/**
 * Starts the proxy on a free port of 127.0.0.1. Browsers are set to use it for every host but 127.0.0.1.
 * @returns {Promise<RefusingProxy>}
 */
export async function refuseForeign() {
  /** @type {string[]} */
  let asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(502, { "Content-Type": "text/plain" }).end("refused by the test proxy\n");
  });
  // An https address arrives as CONNECT host:443; the path stays hidden, the host is enough.
  server.on("connect", (request, socket) => {
    asked.push(`https://${request.url}`);
    socket.on("error", () => {});
    socket.end("HTTP/1.1 502 Refused\r\n\r\n");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(undefined)));
  const address = server.address();
  if (!address || typeof address === "string") throw new Error("the proxy has no port");
  return {
    port: address.port,
    address: `127.0.0.1:${address.port}`,
    asked: () => [...asked],
    clear() {
      asked = [];
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

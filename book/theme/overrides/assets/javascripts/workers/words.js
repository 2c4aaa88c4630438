// Every word that the search index has is found, and every search ends. Material's search, whose file the page names behind the `#`, with two changes.
//
// lunr 2.3.9 folds the graph of all words: two states are one where the labels and numbers of what follows them are the same text. It
// writes these one behind the other, so label `1` before state 234 reads as label `1` before state 2 and label `3` before state 4. In a
// large index two states that differ may so become one, and a search that comes by there, as for a digit, finds nothing at all. A sign
// behind each number keeps them apart.
importScripts(location.hash.slice(1));

lunr.TokenSet.prototype.toString = function () {
  if (this._str) return this._str;
  let text = this.final ? "1" : "0";
  for (const label of Object.keys(this.edges).sort()) text += `${label}${this.edges[label].id};`;
  return text;
};

// A word with `~99` behind it means every word at 99 changes from it, for which a search makes more states than memory holds.
const { fromFuzzyString } = lunr.TokenSet;
lunr.TokenSet.fromFuzzyString = (word, changes) => fromFuzzyString(word, Math.min(changes, 2));

/**
 * Patterns of text that reads like a translation, each with what to write instead. Applied to pages, help, errors and
 * the console, never to code.
 */
export const rules: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [
    /\b(nobody|no one|somebody|everybody|anybody|whoever|whomever|whichever|whatever)\b/i,
    'name the actor: you, a user, the client',
  ],
  [
    /(^|[.:;!] )(What|Who|Whom) (?!(is|are|was|does|do|did|can|if|to|happens|changed|you)\b)[^?]*?[.:;](\s|$)/,
    'start with the noun',
  ],
  [/(, | and |[:;] )who \w+s\b/i, 'users who'],
  [
    /\b(of|in|by|on|for|from|with|at|to) (which|whom)\b|\bwhose\b|\bthat which\b|\bthose (who|which|that)\b/i,
    'split the sentence',
  ],
  [/\b(is|are|was) told\b|\bas told\b|\btells? (of|apart)\b/i, 'show, notify'],
  [/\b(is|are|was|were) to (be|have|go|look|do)\b|\bhas to be\b/i, 'must'],
  [/(?<!there )\b(is|are|was) (no|none)\b(?! (longer|more|match))/i, "isn't a"],
  [/\bno such\b/i, 'not found'],
  [/\b(must|need|may|shall) not\b|\bshall\b/i, "don't, can't"],
  [/\b(cannot|does not|do not|is not|are not|was not|will not)\b/i, 'contraction'],
  [
    /\b(room|anew|once more|besides?|meanwhile|under way|promised|mend(s|ed)?|begins?|began|begun)\b/i,
    'space, again, next to, while, in progress, reserved, fix, start',
  ],
  [/\b(go|goes|going|went) (on|back)\b(?! to http)/i, 'continue, roll back'],
  [/\btak(e|es|en|ing) (up|away|back)\b|\bit takes (a|an|the|both|no|only)\b/i, 'use, remove, you need'],
  [/\b(lies|lie|lay|stands?|stood) (in|on|at|below|there|above|before|for|between|under|where)\b/i, 'is in'],
  [/\bholds (for|only|until|exactly|beside|again)\b|\bwhat (then )?holds\b/i, 'applies'],
  [
    /\bgiants?\b|\bfloor\b|\bstages?\b|\bstrangers?\b|\bpeople\b|\bpersons?\b/i,
    'large repo, confirmed usage, deployment, anonymous user, users',
  ],
  [
    /\brecount(s|ed|ing)?\b|\bclean-?ups?\b|\bkeep-sets?\b|\bunhost\b/i,
    'reconcile, garbage collection, reachable set, unlink',
  ],
  [
    /\b(dead|late) (reservation|upload|one|entr)|\breservations? (is|are) (dead|late)\b/i,
    'expired, unconfirmed',
  ],
  [
    /\bhand(s|ed|ing)? (on|over|out)\b|\b(gives?|gave|given) up\b|\bvouch/i,
    'issue, enqueue, deliver, cancel, authenticate',
  ],
  [
    /\bwhat (became|becomes|become) of\b|\bas a rule\b|\bas ever\b|\bfor ever\b|\bat last\b|\blately\b/i,
    'what happens to, usually, unchanged, never expires, finally, recently',
  ],
  [
    /\bsome (\d|hundred|thousand|dozen)|\b(one by one|by hand|unasked|misspelt|made-up|mistyped|younger)\b/i,
    'about, individually, manually, invalid, fake, typo, newer',
  ],
  [/\btr(y|ied|ies) (it )?again\b|(?<!on )\bdemand(s|ed)?\b/i, 'retry, require'],
  [/\bgood (for|as)\b|\bof (no )?use\b|\b(thereby|therein|hence|whereby|wherever)\b/i, 'valid for'],
  [
    /\bmay (be|have|still|take|also|see|make|use|push|read|do|change|pull|create|delete)\b/i,
    'can (permission), might (chance)',
  ],
  [/, and (that|this) (is|was|does|without|with)\b|\bso that\b/i, 'a new sentence; so'],
  [
    /\bsays (how|what|who|whether|which|why|when|so|it)\b|\bnames (it|them|the|an?|one|none)\b|\bnamed by\b/i,
    'explains, lists',
  ],
];

/** Terms of the field that contain a word of the rules. */
export const allowed: readonly RegExp[] = [/dead-letter queue/gi, /-c stage=/g, /multi-stage/g];

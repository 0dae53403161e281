/** Constructions that make prose hard to read, and plain words for them. */

/**
 * `pattern` is for counting: a few sentences that it finds are good English. `certain` is for the check: it
 * finds only sentences that must change. Constructions without it are counted and not checked. `isInCode`: it
 * is certain in comments and test names only, because titles and table cells of documents may begin so.
 * @typedef {{
 *   name: string; pattern: RegExp; certain?: RegExp; instead: string; isInCode?: true
 * }} Construction
 */

/** Verbs before an indirect question, which is plain English: "the log says what happened". */
const SAYS =
  'ask|asks|asked|check|checks|decide|decides|describe|describes|know|knows|known|knew|list|lists|say|says|said|see|sees|shows?|tell|tells|told|names?|explains?'

/** Words before a "where" that means a place. */
const PLACES = `${SAYS}|is|are|was|were|from|to|by|of|and|or|about|stay|stays|stayed|place|places|point|points|page|file|folder|line|row|table|here|there|stored|kept|goes|looks?|starts?|ends?|it|them`

/** Words before a "where" that means "if". */
const RESULTS =
  'null|nothing|none|empty|absent|undefined|false|true|0|1|[45]\\d\\d|throws|fails|rejects|only|even|also|except'

/** @type {readonly Construction[]} */
export const CONSTRUCTIONS = [
  {
    name: 'where (condition)',
    pattern: new RegExp(
      `(?<!^|\\b(?:${PLACES})[,:;]? )\\bwhere\\b|^where [^,;:]+, (?!and\\b|or\\b|as\\b|in\\b|of\\b)`,
      'i',
    ),
    certain: new RegExp(`\\b(?:${RESULTS}) where\\b`, 'i'),
    instead: 'if, when',
  },
  {
    name: 'what (noun)',
    pattern: new RegExp(`(?<!\\b(?:${SAYS}) )\\bwhat\\b(?!.*\\?$)`, 'i'),
    certain: /(?:^|\b(?:of|from|by|with|than|after|before) )what\b(?!.*\?)/i,
    instead: 'the noun that is meant: the events that arrive',
    isInCode: true,
  },
  {
    name: 'who (noun)',
    pattern: /(?:^whos?e?|\b(?:of|for|by|to|from|with|as|at|than|only|up) who|\bwhom)\b(?!.*\?$)/i,
    certain: /(?:^whos?e?|\bonly who|\bwhom)\b(?!.*\?)/i,
    instead: 'the noun that is meant: users who',
    isInCode: true,
  },
  {
    name: 'whose (noun)',
    pattern:
      /\bwhose (?:it|they|he)\b|\b(?:one|all|some|those|nobody|others|two|several|any)(?: of)? whose\b/i,
    instead: 'of which user; users with',
  },
  {
    name: 'whoever, whatever',
    pattern: /\b(?:whoever|whom(?:so)?ever|whosoever|whosever|whatever|wherever)\b/i,
    certain: /\b(?:whoever|whom(?:so)?ever|whosoever|whosever)\b/i,
    instead: 'users who; any; each',
  },
  {
    name: 'those who, one who',
    pattern: /\bthose (?:who|whom|whose|that|which|of)\b|(?<!\bno )\bone (?:who|whom)\b/i,
    certain: /\bthose (?:who|whom|whose)\b/i,
    instead: 'users who; the noun again',
  },
  {
    name: 'somebody',
    pattern: /\b(?:some|any|every)body\b/i,
    certain: /\b(?:some|any|every)body\b/i,
    instead: 'a user; all users; nobody',
  },
  {
    name: 'anew, of late',
    pattern: /\b(?:anew|of late)\b/i,
    certain: /\b(?:anew|of late)\b/i,
    instead: 'again; recent',
  },
  {
    name: 'hence, thereby, lest, alike',
    pattern:
      /\b(?:hence|thereby|lest|alike|therein|thereof|thereafter|thereupon|whereby|wherein|whereupon|hitherto|likewise|thus|shall|upon)\b/i,
    certain:
      /\b(?:hence|thereby|lest|alike|therein|thereof|thereafter|thereupon|whereby|wherein|whereupon|hitherto)\b/i,
    instead: 'so; by this; so that … not; both',
  },
  {
    name: 'stands (is)',
    pattern: /\b(?:stands?|stood)\b(?! (?:still|for|in for)\b)/i,
    certain: /\b(?:stands?|stood)\b(?! (?:still|for|in for|out|by|up)\b)/i,
    instead: 'is',
  },
  {
    name: 'it is … that',
    pattern:
      /\bit is (?:not )?(?:its|for|by|with|from|in|at|only)\b[^,;.]{1,40}? (?:that|who)\b|\bit is (?:\w+ )?(?:looked|asked|checked|known|noted|said|told|judged) (?:whether|that|how|what|who|again|at)\b/i,
    instead: 'the subject first',
  },
  {
    name: 'should (if)',
    pattern: /[,;] should (?:the|an?|its?|one|some\w*|any\w*|no|what|there|this|they|he)\b/i,
    certain: /[,;] should (?:the|an?|its?|one|some\w*|any\w*|no|what|there|this|they|he)\b/i,
    instead: 'if',
  },
  {
    name: 'is to be done',
    pattern: /\b(?:is|are|was|were) to be \w+(?:ed|n|t|ld|ne|de|nd|pt)\b|\bthere (?:is|are|was) to [a-z]+/i,
    instead: 'must be; will be; due',
  },
  {
    name: 'come of, become of',
    pattern: /\b(?:be)?(?:comes?|came|coming) of\b/i,
    instead: 'result, outcome',
  },
  { name: 'as … as may be', pattern: /\bas may be\b/i, certain: /\bas may be\b/i, instead: 'as possible' },
  { name: 'but for, save for', pattern: /\b(?:but|save) for\b/i, instead: 'except' },
  { name: 'besides', pattern: /\bbesides\b/i, instead: 'as well; in addition to' },
]

/** Texts of people and of servers, as pages show and take them. */

/** Without blanks and invisible characters at its ends, such as a text that was pasted has. */
export const trimmed = (text: string): string => text.replace(/^[\s\p{Cc}\p{Cf}]+|[\s\p{Cc}\p{Cf}]+$/gu, '')

/** A text without blanks and invisible characters: people can't see how many there are. For comparing what they type. */
export const seen = (text: string): string =>
  text.normalize().replaceAll(/[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu, '')

/** A name; the id if nothing of the name can be seen. */
export const nameOr = (name: string | null | undefined, id: string): string =>
  /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/u.test(name ?? '') ? (name ?? '').trim() : id

/** Characters from right to left, and those that turn the text around them. */
const TURNING =
  /[\p{Bidi_Control}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

/** A value for a sentence, whose other words keep their places whatever is in it. */
const isolated = (value: string): string =>
  TURNING.test(value) ? `\u2068${value.replaceAll(/\p{Bidi_Control}/gu, '')}\u2069` : value

/** A sentence with values of people: `` say`Delete ${name}?` ``. */
export const say = (words: TemplateStringsArray, ...values: readonly (string | number)[]): string =>
  String.raw({ raw: words }, ...values.map((value) => isolated(String(value))))

/**
 * The address of a user's page. It names the part of the page too if the id is not safe at the end of an
 * address: `/users/new` is a form, and browsers drop blanks there.
 */
export const userPath = (id: string): string =>
  `/users/${encodeURIComponent(id)}${id === 'new' || /\s$/.test(id) ? '/summary' : ''}`

/** The name of the file of a user. Another id has another name, also if its signs are left out or it is long. */
export function fileNameOf(userId: string): string {
  const shown = userId.replaceAll(/[^\p{L}\p{M}\p{N}.-]+/gu, '_').slice(0, 60)
  if (shown === userId) return `user-${shown}.json`
  let hash = 0
  for (const sign of userId) hash = (Math.imul(hash, 31) + (sign.codePointAt(0) ?? 0)) >>> 0
  return `user-${shown}-${hash.toString(36)}.json`
}

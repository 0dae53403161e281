/** True for a key of this app. A Laurel that you try things with may have other metrics and achievements too. */
export const isOurs = (key: string | undefined) => key?.startsWith('study-') ?? false

/** The words of a text, for lists that would be long with a line for each word. */
export const words = (text: TemplateStringsArray): string[] => text.join('').trim().split(/\s+/)

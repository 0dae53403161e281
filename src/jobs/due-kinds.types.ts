/** The kinds of due work. Each job adds its own beside itself, by `declare module`. */
// biome-ignore lint/suspicious/noEmptyInterface: the rooms above fill it.
export interface DueKinds {}
export type DueKind = keyof DueKinds & string

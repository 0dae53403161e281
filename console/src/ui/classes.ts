/** Joins the names of CSS classes. Skips those that are not set. */
export const classes = (...names: (string | false | null | undefined)[]): string =>
  names.filter(Boolean).join(' ')

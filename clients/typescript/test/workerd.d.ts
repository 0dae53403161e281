declare module 'workerd' {
  /** The path of the program. */
  const path: string
  export default path
}

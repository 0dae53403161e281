/** React hooks and components of Laurel. */
export {}

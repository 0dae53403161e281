/** The client library of Laurel. */
export {}

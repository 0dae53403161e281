/** Values that tests on the Workers runtime and in Node have in common. */

/** 12:20 UTC, three days after the tests begin: all moments of a test are in the future. */
export const NOON = Date.UTC(2026, 5, 6, 12, 20)

/** An id that nothing has. */
export const NOBODY = '018f0000-0000-7000-8000-000000000000'

/** The filters of a resource that want one value of one attribute. */
export const filter = (attributeId: string, attributeValue = 'x') => [{ attributeId, attributeValue }]

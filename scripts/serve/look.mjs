/**
 * The main module of the workerd that looks at the databases before the server starts. It has no other objects,
 * so no alarm rings, and it makes no folder of a class that is missing.
 */
export { Database } from './platform.mjs'

export default {
  /** Answers what each database says of itself (`Looked` in whole.mjs). */
  async fetch(/** @type {Request} */ _request, /** @type {any} */ env) {
    const looks = env.DATABASE_LIST.map(async (/** @type {{ binding: string; name: string }} */ one) => ({
      binding: one.binding,
      ...(await env.DATABASE_OBJECTS.getByName(one.name).look()),
    }))
    return Response.json(await Promise.all(looks))
  },
}

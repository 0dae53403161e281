/** Stands for Laurel's Worker on this machine: it passes each request on to the Laurel that runs at LAUREL_URL. */
export default {
  fetch(request, env) {
    const { pathname, search } = new URL(request.url)
    return fetch(new Request(new URL(pathname + search, env.LAUREL_URL), request))
  },
}

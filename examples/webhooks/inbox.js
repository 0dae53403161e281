/** The events that came, in a file. In production, this is a table with a unique column for the id. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

export class Inbox {
  #file
  /** The events by their ids. Null: the work for it is done. */
  #events = new Map()
  #isBusy = false

  constructor(file) {
    this.#file = file
    if (!existsSync(file)) return
    const text = readFileSync(file, 'utf8')
    // After a crash, the last line may be a part of an event. It was not answered, so Laurel sends it again.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    if (whole !== text) writeFileSync(file, whole)
    for (const line of whole.split('\n').filter(Boolean)) {
      const { id, event } = JSON.parse(line)
      this.#events.set(id, event)
    }
  }

  /** Keeps an event. Answers false if it came before. */
  keep(id, event) {
    if (this.#events.has(id)) return false
    this.#write(id, event)
    return true
  }

  /** Does the work for each event that waits for it, one after another. */
  async each(work) {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      // Those that come meanwhile are at the end of the map, so this loop reaches them too.
      for (const [id, event] of this.#events) {
        if (event === null) continue
        await work(event)
        this.#write(id, null)
      }
    } catch (error) {
      // It is tried again with the next event, or at the next start.
      console.error(error)
    } finally {
      this.#isBusy = false
    }
  }

  #write(id, event) {
    appendFileSync(this.#file, `${JSON.stringify({ id, event })}\n`)
    this.#events.set(id, event)
  }
}

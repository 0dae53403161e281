/**
 * Loaded into wrangler (`node --import`): when whoever started it is gone without a word, it ends as well.
 */
const parent = process.ppid

if (process.channel) {
  process.once('disconnect', () => {
    // The channel closes before a normal end too: only another parent means that ours is gone.
    setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGTERM'), 100).unref()
  })
  process.channel.unref()
}

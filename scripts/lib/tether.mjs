/**
 * Loaded into wrangler (`node --import`): when whoever started it is gone without a word, it ends as well.
 */
if (process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

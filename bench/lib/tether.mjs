/** Loaded into wrangler (`node --import`), so that it ends if the process that started it dies. */
const parent = process.ppid

if (process.channel) {
  process.once('disconnect', () => {
    // The channel also closes before a normal end. Only a new parent process means that the old one has died.
    setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGTERM'), 100).unref()
  })
  process.channel.unref()
}

/** The drawings of all symbols, which the build makes (`vite.config.ts`). */
declare module 'virtual:icons' {
  const drawings: Readonly<Record<typeof import('../icons').ICONS[number], string>>
  export default drawings
}

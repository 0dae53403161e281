export default { dialect: 'sqlite', schema: './src/worker/schema.ts', out: './migrations' }

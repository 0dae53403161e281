/** `npm run deploy`: what it does in which order. test/long/server/deploy.test.ts has the rest. */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ALL, DEPLOY, deployments, MIGRATE, threeDatabases } from '../helpers/server/deployments'
import { BOOKMARK, MOMENT, migrateCalls, PUT_SECRET, SECRETS } from '../helpers/server/fake-wrangler'

const scene = deployments()
const { project, file, calls, deploy } = scene

describe('npm run deploy', () => {
  it('builds, notes the bookmark, migrates, deploys and asks /health, in this order', async () => {
    const { code, output } = await deploy('--url', scene.url)
    expect([code, calls()], output).toEqual([0, ALL])
    expect(scene.asked).toEqual(Array(3).fill(ALL))
    expect(output).toContain(BOOKMARK)
    expect(readFileSync(file('.wrangler', 'deployments.log'), 'utf8')).toMatch(
      new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\S+Z ${BOOKMARK}\\n$`),
    )
    expect(output).toContain('Laurel is deployed, and healthy.')
  })

  describe('with three databases', () => {
    const { names, before, back } = threeDatabases(project)

    it('[B3, M1] notes one time of the databases for all of them, and migrates each before it deploys', async () => {
      const { code, output } = await deploy('--url', scene.url)
      expect([code, calls()], output).toEqual([
        0,
        [...before, ...names.flatMap((name) => migrateCalls(name)), DEPLOY, SECRETS],
      ])
      expect(output).toContain(`${MOMENT} of laurel, laurel-2 and laurel-3`)
      expect(readFileSync(file('.wrangler', 'deployments.log'), 'utf8')).toBe(
        `${MOMENT} laurel laurel-2 laurel-3\n`,
      )
    })

    it('[B3, M1] stops if one cannot be migrated, names it, and says how to bring all back to one moment', async () => {
      const [list = '', send = ''] = migrateCalls('laurel-2')
      writeFileSync(file('fail'), send)
      const { code, output } = await deploy('--url', scene.url)
      expect([code, calls()], output).toEqual([1, [...before, ...MIGRATE, list, send]])
      expect(output).toContain('The migrations of laurel-2 failed. The Worker was not deployed.')
      expect(output).toContain('laurel-3 was not migrated.')
      expect(output).toMatch(new RegExp(`${back}Then check out the version before.*\\n {2}npm run restored`))
      expect(output).not.toContain('--bookmark=')
    })
  })

  it('changes nothing if wrangler.toml has variables that cannot work, and names them without their values', async () => {
    project.configure((text) => `vars = { EMAIL_FROM = "Ada Byron", MULTI_TENANCY = true }\n${text}`)
    const { code, output } = await deploy('--url', scene.url)
    expect([code, calls()], output).toEqual([1, []])
    expect(output).toContain('EMAIL_FROM must be an email address')
    expect(output).toContain('MULTI_TENANCY must be on or off.')
    expect(output).toContain('wrangler.toml. Nothing was changed.')
    expect(output).not.toContain('Ada Byron')
  })

  it('[K6] makes the secret of tokens if the Worker has none, on no command line', async () => {
    writeFileSync(file('bare'), '')
    const { code, output } = await deploy('--url', scene.url)
    expect([code, calls()], output).toEqual([0, [...ALL, PUT_SECRET]])
    const secret = readFileSync(file('secret'), 'utf8')
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(output).not.toContain(secret)
  })
})

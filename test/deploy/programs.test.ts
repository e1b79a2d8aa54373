import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { findDeployPrograms } from './programs.ts'
import { makeCertificate, nginxConfiguration } from './proxy-configurations.ts'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, '../../deploy')

describe('the programs that the files of deploy/ are for accept them', () => {
  let programs: Awaited<ReturnType<typeof findDeployPrograms>>
  let folder: string
  before(async () => {
    programs = await findDeployPrograms()
    folder = await mkdtemp(join(tmpdir(), 'sexton-deploy-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('promtool: the configuration and the alarms', async () => {
    const { stdout } = await run(programs.promtool, ['check', 'config', 'prometheus.yml'], {
      cwd: join(FOLDER, 'prometheus'),
    })
    assert.match(stdout, /prometheus\.yml is valid/)
    assert.match(stdout, /SUCCESS: \d+ rules found/)
  })

  it('promtool: each alarm fires where it should, and none on a healthy service', async () => {
    await run(programs.promtool, ['test', 'rules', join(FOLDER, 'prometheus/alerts_test.yml')])
  })

  it('promtool: a changed threshold fails the tests of the alarms', async () => {
    await cp(join(FOLDER, 'prometheus'), folder, { recursive: true })
    const file = join(folder, 'alerts.yml')
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace('sexton_job_late) == 1', 'sexton_job_late) >= 0'))
    const tests = join(folder, 'alerts_test.yml')
    const all = parse(await readFile(tests, 'utf8'))
    // All of them take seconds.
    const own = all.tests.filter(({ name }: { readonly name: string }) => /JobLate/.test(name))
    await writeFile(tests, stringify({ ...all, tests: own }))
    const failed = run(programs.promtool, ['test', 'rules', tests])
    await assert.rejects(failed, /SextonJobLate/)
  })

  it('caddy: the Caddyfile, in its own format', async () => {
    const file = join(FOLDER, 'Caddyfile')
    const environment = { ...process.env, HOME: folder, SEXTON_DOMAIN: 'api.example.org' }
    await run(programs.caddy, ['validate', '--config', file, '--adapter', 'caddyfile'], {
      env: environment,
    })
    const { stdout } = await run(programs.caddy, ['fmt', file], { env: environment })
    assert.equal(stdout, await readFile(file, 'utf8'))
  })

  it('nginx: its configuration', async () => {
    const certificate = await makeCertificate(folder)
    const file = join(folder, 'nginx.conf')
    await writeFile(file, await nginxConfiguration(folder, certificate))
    const { stderr } = await run(programs.nginx, ['-t', '-p', folder, '-c', file])
    assert.match(stderr, /test is successful/)
  })
})

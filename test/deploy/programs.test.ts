import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '#base/free-port.ts'
import { findDeployPrograms } from './programs.ts'
import { nginxConfiguration } from './proxy-configurations.ts'

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

  it('caddy: the Caddyfile, in its own format', async () => {
    const file = join(FOLDER, 'Caddyfile')
    const environment = { ...process.env, HOME: folder, SEXTON_DOMAIN: 'api.example.org' }
    await run(programs.caddy, ['validate', '--config', file, '--adapter', 'caddyfile'], {
      env: environment,
    })
    const { stdout } = await run(programs.caddy, ['fmt', file], { env: environment })
    assert.equal(stdout, await readFile(file, 'utf8'))
  })

  it('amtool: the receivers of alarms', async () => {
    const file = join(FOLDER, 'prometheus/alertmanager.yml')
    const { stdout } = await run(programs.amtool, ['check-config', file])
    assert.match(stdout, /SUCCESS/)
    assert.match(stdout, /2 receivers/)
  })

  it('nginx: http leads to https, which browsers remember, over IPv4 and IPv6', async (context) => {
    const ports = { http: await freePort(0), https: await freePort(0) }
    const file = join(folder, 'nginx.conf')
    const configuration = await nginxConfiguration(folder, ports)
    // Returns once it listens.
    await writeFile(file, configuration.replace('daemon off', 'daemon on'))
    const nginx = async (...more: string[]) => {
      const parameters = ['-p', folder, '-c', file, ...more]
      // It goes on with the streams of its start.
      const [code] = await once(spawn(programs.nginx, parameters, { stdio: 'ignore' }), 'exit')
      assert.equal(code, 0)
    }
    await nginx()
    context.after(() => nginx('-s', 'stop'))
    for (const host of ['127.0.0.1', '[::1]']) {
      const redirect: RequestInit = { redirect: 'manual' }
      const http = await fetch(`http://${host}:${ports.http}/api/stats?x=1`, redirect)
      assert.equal(http.status, 308)
      assert.equal(http.headers.get('location'), 'https://api.example.org/api/stats?x=1')
      const url = `https://${host}:${ports.https}/`
      const [answer] = await once(get(url, { rejectUnauthorized: false }), 'response')
      answer.destroy()
      assert.equal(answer.headers['strict-transport-security'], 'max-age=31536000')
    }
  })
})

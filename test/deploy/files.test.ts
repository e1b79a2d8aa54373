import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { DockerfileParser } from 'dockerfile-ast'
import { parse } from 'yaml'
import { VARIABLES } from '#config.ts'

const FOLDER = join(import.meta.dirname, '../../deploy')
const read = (path: string) => readFileSync(join(FOLDER, path), 'utf8')
const documented = new Set(
  [...read('../docs/metrics.md').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name),
)

/** Metric names of a PromQL expression. */
function metricsOf(expression: string): readonly string[] {
  const found = [...expression.matchAll(/\b(?:sexton|process)_\w+/g)].map(([name]) => name)
  return found.map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
}

/** Names of settings that a file sets for the service. */
function settingsIn(text: string): readonly string[] {
  return [...text.matchAll(/\b(SEXTON_[A-Z_]+)(?=[=:])/g)].map(([, name = '']) => name)
}

describe('the image', () => {
  const text = read('Dockerfile')
  const dockerfile = DockerfileParser.parse(text)

  it('has pinned bases, an own user at the end, a health check and a volume', () => {
    for (const from of dockerfile.getFROMs())
      assert.match(from.getImage() ?? '', /^node:\d+\.\d+\.\d+-\w+-slim$/)
    const last = dockerfile.getInstructions().map((each) => each.getKeyword())
    const runtime = last.slice(last.lastIndexOf('FROM'))
    for (const keyword of ['USER', 'HEALTHCHECK', 'VOLUME', 'ENTRYPOINT'])
      assert.ok(runtime.includes(keyword), keyword)
    assert.match(text, /^USER node$/m)
  })

  it('runs the Node that the package pins', () => {
    const { devDependencies } = JSON.parse(read('../package.json'))
    assert.ok(text.includes(`FROM node:${devDependencies.node}-`))
  })
})

for (const file of ['compose.yaml', 'compose.sqlite.yaml'])
  describe(file, () => {
    const compose = parse(read(file), { merge: true })
    const services = Object.entries<ComposeService>(compose.services)

    it('names the volumes, networks and configs that it uses, and pins its images', () => {
      const { volumes, configs, networks } = compose
      for (const [, service] of services) {
        const named = (service.volumes ?? []).filter((volume) => !volume.startsWith('.'))
        for (const volume of named) assert.ok(volume.replace(/:.*/, '') in volumes)
        for (const { source } of service.configs ?? []) assert.ok(source in configs, source)
        for (const network of Object.values(service.networks ?? {}))
          if (typeof network === 'string') assert.ok(network in networks, network)
        if (service.build === undefined) assert.match(service.image, /:\d+\.\d+/)
      }
    })
  })

interface ComposeService {
  readonly image: string
  readonly build?: unknown
  readonly volumes?: readonly string[]
  readonly configs?: readonly { readonly source: string }[]
  readonly networks?: unknown
}

describe('the files of deploy/', () => {
  it('set only settings that exist', () => {
    const own = ['SEXTON_DOMAIN', 'SEXTON_UPSTREAMS', 'SEXTON_IMAGE']
    const units = readdirSync(join(FOLDER, 'systemd')).map((name) => `systemd/${name}`)
    const others = ['compose.yaml', 'compose.sqlite.yaml', 'template/render.yaml', 'Caddyfile']
    for (const file of ['Dockerfile', 'nginx.conf', ...others, ...units])
      for (const name of settingsIn(read(file)))
        assert.ok(name in VARIABLES || own.includes(name), `${file}: ${name}`)
  })
})

describe('the alarms', () => {
  const { groups } = parse(read('prometheus/alerts.yml'))
  const rules: readonly Alarm[] = groups[0].rules

  it('use metrics that exist', () => {
    for (const { alert, expr } of rules)
      for (const name of metricsOf(expr)) assert.ok(documented.has(name), `${alert}: ${name}`)
  })

  it('each have an entry in the runbook that names them, and it has no other', () => {
    const runbook = read('../docs/runbook.md')
    const sections = new Map(
      runbook
        .split(/^## /m)
        .slice(1)
        .map((section) => {
          const title = section.split('\n')[0] ?? ''
          return [`docs/runbook.md#${title.toLowerCase().replaceAll(' ', '-')}`, section]
        }),
    )
    for (const { alert, annotations } of rules)
      assert.ok(sections.get(annotations.runbook)?.includes(`\`${alert}\``), alert)
    const named = [...runbook.matchAll(/`(Sexton\w+)`/g)].map(([, name]) => name)
    assert.deepEqual([...new Set(named)].toSorted(), rules.map(({ alert }) => alert).toSorted())
  })

  it('each are tested to fire', () => {
    const fires = read('prometheus/alerts_test.yml').matchAll(/- name: (\w+) fires/g)
    assert.deepEqual(
      [...fires].map(([, name]) => name),
      rules.map(({ alert }) => alert),
    )
  })
})

interface Alarm {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly runbook: string }
}

it('the dashboard shows only metrics that exist', () => {
  const { panels } = JSON.parse(read('grafana/sexton.json'))
  const targets: readonly { expr: string }[] = panels.flatMap(
    (panel: { targets?: readonly { expr: string }[] }) => panel.targets ?? [],
  )
  assert.ok(targets.length > 20)
  for (const { expr } of targets)
    for (const name of metricsOf(expr)) assert.ok(documented.has(name), name)
})

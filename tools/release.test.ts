import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import manifest from '../package.json' with { type: 'json' }
import { releaseNotes } from './release-notes.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..')
const read = (path: string) => readFile(join(ROOT, path), 'utf8')
const { version } = manifest

test('package, client, template and walk to production name one version', async () => {
  assert.equal(JSON.parse(await read('client/package.json')).version, version)
  for (const file of ['compose.yaml', 'compose.sqlite.yaml', 'template/Dockerfile'])
    assert.match(await read(`deploy/${file}`), new RegExp(`/sexton:${version}\\b`), file)
  assert.ok((await read('docs/production.md')).includes(`sexton@${version} node@26`))
})

test('both packages can be published with their provenance, and say where they are from', async () => {
  for (const path of ['package.json', 'client/package.json']) {
    const { publishConfig, ...published } = JSON.parse(await read(path))
    assert.deepEqual(publishConfig, { access: 'public', provenance: true })
    assert.equal(published.private, undefined)
    assert.equal(published.repository.url, manifest.repository.url)
    assert.ok(published.homepage.startsWith('https://') && published.keywords.length > 3, path)
    await read(path.replace('package.json', 'LICENSE'))
  }
  assert.equal(manifest.engines.node, '>=26')
})

test('the ecosystem file has one name, and its whole folder is handed over', async () => {
  const { stdout } = await run('git', ['ls-files', 'deploy', 'docs', '*.md'], { cwd: ROOT })
  for (const path of stdout
    .trim()
    .split('\n')
    .filter((each) => each !== 'CHANGELOG.md'))
    assert.doesNotMatch(await read(path), /(?<!<data>\/)\becosystem\.json\b/, path)
  for (const unit of ['sexton.service', 'sexton@.service'])
    assert.match(await read(`deploy/systemd/${unit}`), /^WorkingDirectory=\/etc\/sexton$/m)
  assert.match(await read('deploy/Dockerfile'), /^WORKDIR \/etc\/sexton$/m)
})

test('the image is built from what git knows', async () => {
  const ignored = (await read('.gitignore')).trim().split('\n')
  const left = (await read('deploy/Dockerfile.dockerignore')).trim().split('\n')
  assert.deepEqual(left, ['.git', ...ignored.map((each) => `**/${each}`)])
})

interface Job {
  readonly 'runs-on': string
  readonly 'timeout-minutes'?: number
  readonly needs?: string | readonly string[]
  readonly permissions?: Readonly<Record<string, string>>
  readonly strategy?: { readonly matrix: { readonly include?: readonly { readonly os: string }[] } }
  readonly steps: readonly Step[]
}

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

async function jobsOf(name: string): Promise<Readonly<Record<string, Job>>> {
  return parse(await read(`.github/workflows/${name}.yml`)).jobs
}

test('no workflow has more rights, time or foreign words than its jobs need', async () => {
  for (const name of await readdir(join(ROOT, '.github/workflows'))) {
    const { jobs, ...workflow } = parse(await read(`.github/workflows/${name}`))
    assert.deepEqual(workflow.permissions, { contents: 'read' }, name)
    assert.ok(!('pull_request_target' in workflow.on), name)
    for (const [id, job] of Object.entries<Job>(jobs)) {
      assert.ok((job['timeout-minutes'] ?? 0) > 0, `${name} ${id}: no timeout`)
      assert.doesNotMatch(job['runs-on'], /latest/, `${name} ${id}`)
      for (const { uses = 'a/b@v1', run = '' } of job.steps) {
        assert.match(uses, /^[\w-]+\/[\w/-]+@(v\d+|[0-9a-f]{40})$/, `${name} ${id}`)
        // What strangers choose must not become a command.
        assert.doesNotMatch(run, /\$\{\{ *github\.(event|head_ref)/, `${name} ${id}`)
        for (const [, file = ''] of run.matchAll(/\bnode (\S+\.ts)/g)) await read(file)
      }
    }
  }
})

test('every change is checked on Linux and macOS, and its image and site are built', async () => {
  const { check, image, site } = await jobsOf('ci')
  const systems = check?.strategy?.matrix.include?.map(({ os }) => os.replace(/-.*/, ''))
  assert.deepEqual(systems, ['ubuntu', 'macos'])
  const commands = (job: Job | undefined) => job?.steps.map(({ run }) => run ?? '').join('\n') ?? ''
  assert.match(commands(image), /--platform linux\/amd64,linux\/arm64/)
  assert.match(commands(site), /npm run build --prefix site/)
})

test('a release is checked first, publishes both packages without a token, and signs its image', async () => {
  const { check, npm, image, notes } = await jobsOf('release')
  assert.ok(check && npm && image && notes)
  assert.deepEqual([npm.needs, image.needs, notes.needs], ['check', 'check', ['npm', 'image']])
  const commands = (job: Job) => job.steps.flatMap(({ run = [] }) => run)
  assert.deepEqual(commands(npm).slice(-2), ['npm publish', 'npm publish --workspace client'])
  assert.equal(npm.permissions?.['id-token'], 'write')
  assert.doesNotMatch(JSON.stringify(npm), /secrets\./)
  const pushed = image.steps.find(({ uses }) => uses?.startsWith('docker/build-push-action'))?.with
  assert.deepEqual(
    [pushed?.sbom, pushed?.provenance, pushed?.platforms],
    [true, 'mode=max', 'linux/amd64,linux/arm64'],
  )
  assert.match(commands(image).join(), /cosign sign --yes "\$IMAGE@\$DIGEST"/)
  const text = releaseNotes(await read('CHANGELOG.md'), `v${version}`)
  assert.match(text, /^### New$.*^### Gone.*^### How to upgrade$/ms)
  assert.doesNotMatch(text, /\]\((?!https:)/, 'links of notes are whole')
})

test('forms of issues and the settings of Renovate parse; no file names the host of a registry', async () => {
  const { stdout } = await run('git', ['ls-files', '-co', '--exclude-standard', '.github'], {
    cwd: ROOT,
  })
  for (const path of stdout.trim().split('\n')) {
    const text = await read(path)
    assert.doesNotMatch(text, /npmjs|ghcr\.io|docker\.io|quay\.io|registry\.\w+\.\w+/, path)
    if (/ISSUE_TEMPLATE\/(?!config)/.test(path))
      for (const { type, attributes } of parse(text).body)
        assert.ok(type === 'markdown' || attributes.label, path)
  }
  const renovate = JSON.parse(await read('.github/renovate.json'))
  assert.ok(renovate.extends.includes('helpers:pinGitHubActionDigests'))
})

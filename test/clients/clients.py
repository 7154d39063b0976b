"""dulwich, DVC's scmrepo and huggingface_hub: CLIENT push FOLDER REMOTE, or CLIENT pull REPOSITORY FOLDER.

The repo is at LFS_REPO_URL, its token is LFS_TOKEN.
"""

import os
import sys
from pathlib import Path

repo_url = os.environ["LFS_REPO_URL"]
token = os.environ["LFS_TOKEN"]


def dulwich_push(folder, _remote):
    from dulwich import porcelain

    with porcelain.init(folder) as repo:
        log_in_by_dulwich(repo)
        porcelain.lfs_init(repo)
        porcelain.add(repo)
        someone = b"dulwich <dulwich@example.invalid>"
        porcelain.commit(repo, message=b"Files", author=someone, committer=someone)
        porcelain.lfs_push(repo, refs=["HEAD"])


def dulwich_pull(repository, folder):
    from dulwich import porcelain

    with porcelain.clone(repository, folder) as repo:
        log_in_by_dulwich(repo)
        porcelain.lfs_pull(repo)


def log_in_by_dulwich(repo):
    """Its LFS has no login, but its HTTP client has one: a callback that is given the challenge."""
    from dulwich import client, lfs

    def log_in(_url, challenge, attempt):
        is_asked = challenge.lower().startswith("basic ") and attempt == 1
        return {"username": "anyone", "password": token} if is_asked else None

    class LoggedIn(lfs.HTTPLFSClient):
        def _get_pool_manager(self):
            return client.default_urllib3_manager(self.config, auth_callback=log_in)

    lfs.HTTPLFSClient = LoggedIn
    config = repo.get_config()
    config.set((b"lfs",), b"url", f"{repo_url}/info/lfs".encode())
    config.write_to_path()


def scmrepo_pull(repository, folder):
    from scmrepo.git import Git
    from scmrepo.git.lfs import fetch

    Git.clone(repository, folder).close()
    with Git(folder) as scm:
        # It adds what is missing of the address itself.
        with scm.gitpython.repo.config_writer() as config:
            config.set_value("lfs", "url", repo_url)
    with Git(folder) as scm:
        fetch(scm, ["HEAD"])
        files = scm.get_fs("HEAD")
        for name in files.ls("/", detail=False):
            if name.endswith(".bin"):
                with files.open(name, "rb") as file:
                    Path(folder, Path(name).name).write_bytes(file.read())


def huggingface_push(folder, _remote):
    """What its `upload_file` does with large files."""
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub._commit_api import _upload_files
    from huggingface_hub.utils import build_hf_headers

    endpoint, tenant, repo = repo_url.removesuffix(".git").rsplit("/", 2)
    _upload_files(
        additions=[CommitOperationAdd(file.name, str(file)) for file in sorted(Path(folder).glob("*.bin"))],
        repo_type="model",
        repo_id=f"{tenant}/{repo}",
        headers=build_hf_headers(token=token),
        endpoint=endpoint,
    )


client, action, source, target = sys.argv[1:]
globals()[f"{client}_{action}"](source, target)

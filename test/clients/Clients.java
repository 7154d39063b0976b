import java.io.IOException;
import java.io.InputStream;
import java.net.Authenticator;
import java.net.PasswordAuthentication;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.http.impl.client.HttpClients;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.lfs.BuiltinLFS;
import org.eclipse.jgit.lfs.LfsPointer;
import org.eclipse.jgit.lib.StoredConfig;
import org.eclipse.jgit.transport.PushResult;
import org.eclipse.jgit.transport.RemoteRefUpdate;
import ru.bozaro.gitlfs.client.BatchDownloader;
import ru.bozaro.gitlfs.client.BatchSettings;
import ru.bozaro.gitlfs.client.BatchUploader;
import ru.bozaro.gitlfs.client.Client;
import ru.bozaro.gitlfs.client.auth.BasicAuthProvider;
import ru.bozaro.gitlfs.client.io.FileStreamProvider;
import ru.bozaro.gitlfs.common.data.Meta;

/**
 * JGit and gitlfs-client: CLIENT push FOLDER REMOTE, or CLIENT pull REPOSITORY FOLDER. The repo is at LFS_REPO_URL, its token is
 * LFS_TOKEN.
 */
class Clients {
  static final String lfsUrl = System.getenv("LFS_REPO_URL") + "/info/lfs";
  static final String token = System.getenv("LFS_TOKEN");

  public static void main(String[] args) throws Exception {
    var from = Path.of(args[2]);
    var to = Path.of(args[3]);
    switch (args[0] + " " + args[1]) {
      case "jgit push" -> pushByJgit(from, to);
      case "jgit pull" -> pullByJgit(from, to);
      case "gitlfs push" -> pushByGitlfs(from);
      case "gitlfs pull" -> pullByGitlfs(from, to);
      case "gitlfs lock" -> lockByGitlfs();
      default -> throw new IllegalArgumentException(String.join(" ", args));
    }
  }

  static void pushByJgit(Path folder, Path remote) throws Exception {
    try (var git = jgit(folder, remote)) {
      git.add().addFilepattern(".").call();
      git.commit().setMessage("Files").setSign(false).call();
      for (PushResult result : git.push().setRemote("origin").add("refs/heads/main").call())
        for (RemoteRefUpdate update : result.getRemoteUpdates())
          if (update.getStatus() != RemoteRefUpdate.Status.OK) throw new IOException(update.toString());
    }
  }

  static void pullByJgit(Path repository, Path folder) throws Exception {
    try (var git = jgit(folder, repository)) {
      git.fetch().setRemote("origin").call();
      git.checkout().setName("main").setCreateBranch(true).setStartPoint("origin/main").call();
    }
  }

  /** A new repository with the LFS of JGit. The login is the JDK's: JGit itself has none for LFS. */
  static Git jgit(Path folder, Path remote) throws Exception {
    BuiltinLFS.register();
    Authenticator.setDefault(new Authenticator() {
      @Override
      protected PasswordAuthentication getPasswordAuthentication() {
        return new PasswordAuthentication("anyone", token.toCharArray());
      }
    });
    var git = Git.init().setDirectory(folder.toFile()).setInitialBranch("main").call();
    StoredConfig config = git.getRepository().getConfig();
    config.setString("lfs", null, "url", lfsUrl);
    config.setString("remote", "origin", "url", remote.toUri().toString());
    config.setString("remote", "origin", "fetch", "+refs/heads/*:refs/remotes/origin/*");
    config.setString("filter", "lfs", "clean", "jgit://builtin/lfs/clean");
    config.setString("filter", "lfs", "smudge", "jgit://builtin/lfs/smudge");
    config.setBoolean("filter", "lfs", "required", true);
    config.setBoolean("filter", "lfs", "useJGitBuiltin", true);
    config.save();
    return git;
  }

  static void pushByGitlfs(Path folder) throws Exception {
    inParallel((client, threads) -> {
      var uploader = new BatchUploader(client, threads, new BatchSettings());
      var uploads = new ArrayList<CompletableFuture<?>>();
      for (var file : binaries(folder)) uploads.add(uploader.upload(new FileStreamProvider(file.toFile())));
      for (var upload : uploads) upload.get();
    });
  }

  static void pullByGitlfs(Path repository, Path folder) throws Exception {
    inParallel((client, threads) -> {
      var downloader = new BatchDownloader(client, threads, new BatchSettings());
      var downloads = new HashMap<Path, CompletableFuture<byte[]>>();
      for (var file : binaries(repository)) {
        var pointer = LfsPointer.parseLfsPointer(Files.newInputStream(file));
        var meta = new Meta(pointer.getOid().name(), pointer.getSize());
        downloads.put(file.getFileName(), downloader.download(meta, InputStream::readAllBytes));
      }
      for (var download : downloads.entrySet())
        Files.write(folder.resolve(download.getKey()), download.getValue().get());
    });
  }

  /** Locks a file, finds the lock in both lists, and unlocks it. */
  static void lockByGitlfs() throws Exception {
    inParallel((client, threads) -> {
      var lock = client.lock("scene.bin", null);
      var listed = client.listLocks("scene.bin", null, null);
      var ours = client.verifyLocks(null).getOurLocks();
      client.unlock(lock.getId(), false, null);
      System.out.println(lock.getPath() + " " + listed.size() + " " + ours.size() + " "
          + client.listLocks(null, null, null).size());
    });
  }

  interface Work {
    void run(Client client, ExecutorService threads) throws Exception;
  }

  static void inParallel(Work work) throws Exception {
    var threads = Executors.newFixedThreadPool(4);
    var login = new BasicAuthProvider(URI.create(lfsUrl), "anyone", token);
    try (var client = new Client(login, HttpClients.createDefault())) {
      work.run(client, threads);
    } finally {
      threads.shutdownNow();
    }
  }

  static List<Path> binaries(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      return files.filter((file) -> file.toString().endsWith(".bin")).toList();
    }
  }
}

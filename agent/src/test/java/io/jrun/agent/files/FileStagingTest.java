package io.jrun.agent.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileEntry;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.FileTree;
import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.proto.ProgramSpec;
import io.jrun.comm.file.Sha256;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A node's side of staging; its launcher is a list of contents. */
@Timeout(60)
class FileStagingTest {
    @TempDir
    Path folder;

    private final List<String> said = new CopyOnWriteArrayList<>();
    private final List<FileRequest> asked = new CopyOnWriteArrayList<>();
    private final List<String> contents = new ArrayList<>();
    private final List<FileStaging> stagings = new ArrayList<>();
    private Path shared;
    private Path cache;
    private OpenJob.Builder job;

    @BeforeEach
    void prepare() throws IOException {
        shared = Files.createDirectory(folder.resolve("shared"));
        cache = folder.resolve("cache");
        job = OpenJob.newBuilder().setRunId("run").setWorkingDir(shared.toString());
    }

    @AfterEach
    void close() {
        stagings.forEach(FileStaging::close);
    }

    private FileEntry entry(String name, String content) {
        contents.add(content);
        return FileEntry.newBuilder()
                .setName(name)
                .setSize(content.length())
                .setModifiedMillis(1_000_000)
                .build();
    }

    private void file(Path path, String place, String content) {
        job.addFiles(
                FileTree.newBuilder().setPath(path.toString()).setPlace(place).addEntries(entry("", content)));
    }

    private Path here(Path path, String content, long modifiedMillis) throws IOException {
        Files.writeString(path, content);
        Files.setLastModifiedTime(path, FileTime.fromMillis(modifiedMillis));
        return path;
    }

    private StagedFiles place() {
        FileStaging staging = new FileStaging(job.build(), Map.of("XDG_CACHE_HOME", cache.toString()), said::add);
        stagings.add(staging);
        Answers answers = new Answers();
        staging.begin("h1");
        staging.attach(answers.files);
        return staging.placed().join();
    }

    /** Answers on the thread that asks. */
    private class Answers implements StreamObserver<FileRequest> {
        private final LauncherFiles files = new LauncherFiles(this);

        @Override
        public void onNext(FileRequest request) {
            asked.add(request);
            byte[] content = contents.get(request.getFile()).getBytes(StandardCharsets.UTF_8);
            FileChunk.Builder chunk = FileChunk.newBuilder();
            if (request.getDigest()) {
                chunk.setSha256(ByteString.copyFrom(Sha256.start().digest(content)));
            } else {
                chunk.setData(ByteString.copyFrom(content, (int) request.getOffset(), request.getBytes()));
            }
            files.answers().onNext(chunk.build());
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {}
    }

    @Test
    void fileOfTheSameSizeAndTimeIsUsedWhereItIs() throws IOException {
        file(here(shared.resolve("a.jar"), "abc", 1_000_000), "", "abc");
        assertThat(place()).isEqualTo(StagedFiles.IN_PLACE);
        assertThat(asked).isEmpty();
        assertThat(cache).doesNotExist();
    }

    @Test
    void anErrorEndsTheStagingWithItsName() {
        job.setWorkingDir("/nowhere");
        FileStaging staging = new FileStaging(job.build(), Map.of("XDG_CACHE_HOME", cache.toString()), _ -> {
            throw new OutOfMemoryError("Java heap space");
        });
        stagings.add(staging);
        staging.begin("h1");
        assertThatThrownBy(() -> staging.placed().get(10, TimeUnit.SECONDS))
                .hasMessageContaining(
                        "the job's files cannot be brought here: java.lang.OutOfMemoryError: Java heap space");
    }

    @Test
    void fileOfAnotherTimeIsUsedIfItsContentIsTheSame() throws IOException {
        file(here(shared.resolve("a.jar"), "abc", 2_000_000), "", "abc");
        file(here(shared.resolve("b.jar"), "abd", 2_000_000), "", "abe");
        StagedFiles placed = place();
        assertThat(placed.moved()).containsOnlyKeys(shared.resolve("b.jar").toString());
        assertThat(placed.moved().get(shared.resolve("b.jar").toString()))
                .hasContent("abe")
                .hasFileName("b.jar");
        assertThat(asked).filteredOn(FileRequest::getDigest).hasSize(2);
        assertThat(said).isEmpty();
    }

    @Test
    void fileThatIsLackingComesOnceAndThenFromTheCache() {
        String big = "0123456789".repeat(200_000); // several pieces
        file(Path.of("/nowhere/big.jar"), "", big);
        assertThat(place().moved().get("/nowhere/big.jar")).hasContent(big);
        assertThat(asked).filteredOn(request -> !request.getDigest()).hasSizeGreaterThan(1);
        asked.clear();
        assertThat(place().moved().get("/nowhere/big.jar")).hasContent(big);
        assertThat(asked).singleElement().matches(FileRequest::getDigest);
    }

    @Test
    void folderThatLacksAFileIsLaidOutAnew() throws IOException {
        Path classes = Files.createDirectory(shared.resolve("classes"));
        here(classes.resolve("A.class"), "aa", 1_000_000);
        job.addFiles(FileTree.newBuilder()
                .setPath(classes.toString())
                .addEntries(entry("A.class", "aa"))
                .addEntries(entry("p/q/B.class", "bb")));
        StagedFiles placed = place();
        Path moved = Objects.requireNonNull(placed.moved().get(classes.toString()));
        assertThat(moved.resolve("A.class")).hasContent("aa");
        assertThat(moved.resolve("p/q/B.class")).hasContent("bb");
        LaunchRound launch = placed.on(LaunchRound.newBuilder()
                .setWorkingDir("/w")
                .setProgram(ProgramSpec.newBuilder()
                        .setJava(JavaProgramSpec.newBuilder()
                                .addClassPath(classes.toString())
                                .addClassPath(classes + "/*")
                                .addClassPath("/other.jar")))
                .build());
        assertThat(launch.getProgram().getJava().getClassPathList())
                .containsExactly(moved.toString(), moved + "/*", "/other.jar");
        assertThat(launch.getWorkingDir()).isEqualTo("/w");
    }

    @Test
    void absentWorkingDirectoryIsReplacedAndSaid() throws IOException {
        job.setWorkingDir("/nowhere/wd");
        file(Path.of("/nowhere/wd/conf/a.txt"), "conf/a.txt", "abc");
        file(Path.of("/nowhere/wd/run.sh"), "", "exit");
        StagedFiles placed = place();
        Path work = placed.workingDir().orElseThrow();
        assertThat(work.resolve("conf/a.txt")).hasContent("abc");
        assertThat(said)
                .containsExactly("the working directory /nowhere/wd does not exist on h1; workers start in " + work);
        LaunchRound launch = placed.on(LaunchRound.newBuilder()
                .setProgram(ProgramSpec.newBuilder()
                        .setExecutable(ExecutableSpec.newBuilder().setPath("/nowhere/wd/run.sh")))
                .build());
        assertThat(launch.getWorkingDir()).isEqualTo(work.toString());
        assertThat(Path.of(launch.getProgram().getExecutable().getPath())).hasContent("exit");
    }

    @Test
    void endOfTheJobRemovesWhatWasBroughtAndNothingElse() throws IOException {
        job.setWorkingDir("/nowhere/wd");
        file(Path.of("/nowhere/wd/a.txt"), "a.txt", "abc");
        file(Path.of("/nowhere/wd/b.txt"), "b.txt", "abc");
        Path work = place().workingDir().orElseThrow();
        Files.writeString(work.resolve("result"), "42");
        Files.delete(work.resolve("b.txt"));
        Files.writeString(work.resolve("b.txt"), "changed");
        stagings.getFirst().close();
        try (Stream<Path> left = Files.list(work)) {
            assertThat(left).containsExactlyInAnyOrder(work.resolve("result"), work.resolve("b.txt"));
        }
        stagings.clear();
        Path second = place().workingDir().orElseThrow();
        assertThat(second).isNotEqualTo(work);
        stagings.getFirst().close();
        assertThat(second.getParent()).doesNotExist();
    }

    @Test
    void filesOfAKilledAgentAreRemovedByTheNextAgentAndFilesOfALivingAgentStay() throws Exception {
        job.setWorkingDir("/nowhere/wd");
        file(Path.of("/nowhere/wd/a.txt"), "a.txt", "abc");
        Path killed = place().workingDir().orElseThrow();
        Files.writeString(killed.resolve("result"), "42");
        Path empty = place().workingDir().orElseThrow();
        Path living = place().workingDir().orElseThrow();
        Process ended = new ProcessBuilder("true").start();
        ended.waitFor();
        for (Path work : List.of(killed, empty)) {
            Path list = cache.resolve("jrun/jobs/.placed")
                    .resolve(work.resolveSibling("").getFileName());
            Files.writeString(
                    list,
                    Files.readString(list)
                            .replaceFirst(" " + ProcessHandle.current().pid() + " ", " " + ended.pid() + " "));
        }
        place();
        stagings.getLast().close(); // waits for its thread
        assertThat(empty.getParent()).doesNotExist();
        try (Stream<Path> left = Files.list(killed)) {
            assertThat(left).containsExactly(killed.resolve("result"));
        }
        assertThat(living.resolve("a.txt")).hasContent("abc");
    }

    @Test
    void otherContentThanTheHashSaysIsAnErrorThatNamesTheFile() {
        file(Path.of("/nowhere/a.jar"), "", "abc");
        contents.set(0, "abc");
        FileStaging staging = new FileStaging(job.build(), Map.of("XDG_CACHE_HOME", cache.toString()), said::add);
        stagings.add(staging);
        Answers answers = new Answers() {
            @Override
            public void onNext(FileRequest request) {
                super.onNext(request);
                contents.set(0, "abd");
            }
        };
        staging.begin("h1");
        staging.attach(answers.files);
        assertThatThrownBy(() -> staging.placed().join())
                .isInstanceOf(CompletionException.class)
                .hasMessageContaining(
                        "/nowhere/a.jar could not be brought to this node: the file was changed during the transfer");
    }

    @Test
    void nameThatLeadsOutIsRefused() {
        job.addFiles(FileTree.newBuilder().setPath("/nowhere/a").addEntries(entry("../../../x", "abc")));
        assertThatThrownBy(this::place).hasMessageContaining("is outside of /nowhere/a");
    }
}

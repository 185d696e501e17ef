package io.jrun.launcher.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.cli.Requests;
import io.jrun.launcher.files.JobFiles.ListedFile;
import io.jrun.launcher.files.JobFiles.Tree;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobFilesTest {
    @TempDir
    Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder);
        Files.createDirectories(folder.resolve("classes/p"));
        Files.writeString(folder.resolve("classes/p/A.class"), "aa");
        Files.writeString(folder.resolve("classes/b.jar"), "b");
        Files.writeString(folder.resolve("words"), "0123456789");
        Files.writeString(folder.resolve("run.sh"), "exit");
        assertThat(folder.resolve("run.sh").toFile().setExecutable(true)).isTrue();
    }

    private List<Tree> trees(String... words) {
        return JobFiles.of(requests.run(words)).trees();
    }

    @Test
    void classPathIsListedFileByFile() {
        List<Tree> trees = trees("--main-class=p.A", "--classpath=classes/*", "classes");
        assertThat(trees).extracting(Tree::path).containsExactly(folder.resolve("classes"), folder.resolve("classes"));
        assertThat(trees.get(0).entries()).extracting(ListedFile::name).containsExactly("b.jar", "p/A.class");
        assertThat(trees.get(1).entries()).extracting(ListedFile::name).containsExactly("b.jar");
        assertThat(trees).extracting(Tree::place).containsOnly("");
    }

    @Test
    void programOfTheUsersOwnIsListedAndOneOfTheMachineIsNot() {
        assertThat(trees("./run.sh").getFirst().entries())
                .singleElement()
                .satisfies(entry -> assertThat(entry.executable()).isTrue());
        assertThat(trees("sh", "-c", "exit")).isEmpty();
    }

    @Test
    void stagedFilesHaveTheirPlaceBelowTheWorkingDirectory() {
        List<Tree> trees = trees("--stage=words", "--stage=classes", "--stage=classes/p", "sh");
        assertThat(trees).extracting(Tree::place).containsExactly("words", "classes");
        assertThat(trees("--stage=.", "sh")).extracting(Tree::place).containsExactly(".");
        assertThatThrownBy(() -> trees("--stage=/etc/passwd", "sh"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("--stage: /etc/passwd is outside of the working directory " + folder);
        assertThatThrownBy(() -> trees("--stage=nothing", "sh"))
                .hasMessage("--stage: nothing: no such file or folder.");
    }

    @Test
    void progressIsSaidOnlyWhereItTakesLong() {
        AtomicLong now = new AtomicLong();
        List<String> said = new ArrayList<>();
        StagingProgress progress = new StagingProgress(said::add, now::get);
        progress.begin(3_000_000, true);
        progress.begin(3_000_000, true);
        progress.sent(1_000_000);
        assertThat(said).isEmpty();
        now.set(6_000_000_000L);
        progress.sent(2_000_000);
        progress.done();
        now.set(9_000_000_000L);
        progress.sent(3_000_000);
        progress.done();
        assertThat(said)
                .containsExactly(
                        "sending files to 2 nodes: 3.0 of 6.0 MB requested so far",
                        "sent 6.0 MB of files to 2 nodes in 9 s");
    }
}

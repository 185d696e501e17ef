package io.jrun.launcher.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.coordinator.Straggler;
import io.jrun.launcher.record.JobRecord.State;
import io.jrun.launcher.record.JobRecord.Worker;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecordFileTest {
    @TempDir
    private Path folder;

    private static JobRecord record(State state, ProcessIdentity launcher) {
        return new JobRecord(
                "nightly",
                state,
                launcher,
                1_000,
                2_000,
                42,
                true,
                30_000,
                1,
                Path.of("/data/a b"),
                List.of("jrun", "--env=TOKEN=...", "sh"),
                List.of("sh", "-c", "echo 'a\nb\\n'\r", ""),
                List.of("TOKEN"),
                List.of("h1", "h2"),
                List.of(
                        new Worker(0, 0, 0, "h1", 7, "attempt-0/rank-0001", "", "exit 42"),
                        new Worker(1, 1, 0, "h2", 8, "", "3", "")),
                List.of(new Straggler(1, "my group", 12.5, 0.25, 7.25, 3, 4, 0.5, 0.625, 0.75)),
                List.of("jrun: first failure", "  | é"));
    }

    @Test
    void whatIsWrittenIsRead() throws IOException {
        JobRecord record = record(State.ENDED, ProcessIdentity.current());
        RecordFile.write(folder, record);
        assertThat(RecordFile.read(folder)).isEqualTo(record);
        assertThat(RecordFile.isIn(folder)).isTrue();
        try (var files = Files.list(folder)) {
            assertThat(files)
                    .hasSize(1)
                    .allSatisfy(file -> assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                            .isEqualTo("rw-------"));
        }
    }

    @Test
    void whatIsNoRecordIsSaidToBeNone() throws IOException {
        assertThatThrownBy(() -> RecordFile.read(folder)).isInstanceOf(IOException.class);
        Path file = Files.writeString(folder.resolve("job.txt"), "something else\n");
        assertThatThrownBy(() -> RecordFile.read(folder)).hasMessage(file + " is not a record of this version of jrun");
        Files.writeString(file, "jrun-job 2\nrun-id x\n");
        assertThatThrownBy(() -> RecordFile.read(folder)).isInstanceOf(IOException.class);
    }

    private State read(State state, ProcessIdentity launcher) throws IOException {
        RecordFile.write(folder, record(state, launcher));
        return RecordFile.read(folder).state();
    }

    @Test
    void aJobWhoseLauncherIsGoneIsLost() throws IOException {
        ProcessIdentity here = ProcessIdentity.current();
        assertThat(here.isAlive()).isTrue();
        assertThat(read(State.RUNNING, here)).isEqualTo(State.RUNNING);
        ProcessIdentity another = new ProcessIdentity(here.host(), here.pid(), here.boot(), here.startTicks() - 1);
        assertThat(read(State.RUNNING, another)).isEqualTo(State.LOST);
        assertThat(read(State.STARTING, another)).isEqualTo(State.LOST);
        assertThat(read(State.ENDED, another)).isEqualTo(State.ENDED);
        ProcessIdentity elsewhere = new ProcessIdentity(here.host() + "x", here.pid(), "other", 1);
        assertThat(read(State.RUNNING, elsewhere))
                .as("this machine cannot tell")
                .isEqualTo(State.RUNNING);
    }

    /** The record is a pipe, so that the reader is held up just where the launcher writes its last and is gone. */
    @Test
    void aJobThatEndsWhileItIsLookedAtIsNotTakenForLost() throws Exception {
        Process launcher = new ProcessBuilder("cat").start();
        ProcessIdentity identity = ProcessIdentity.of(launcher.pid());
        Path job = folder.resolve("job.txt");
        RecordFile.write(folder, record(State.RUNNING, identity));
        byte[] running = Files.readAllBytes(job);
        RecordFile.write(folder, record(State.ENDED, identity));
        Path ended = Files.move(job, folder.resolve("ended.txt"));
        assertThat(new ProcessBuilder("mkfifo", job.toString()).start().waitFor())
                .isZero();

        FutureTask<JobRecord> seen = new FutureTask<>(() -> RecordFile.read(folder));
        Thread.ofVirtual().start(seen);
        try (OutputStream pipe = Files.newOutputStream(job)) { // waits until the reader has opened it
            pipe.write(running);
            Files.move(ended, job, StandardCopyOption.ATOMIC_MOVE);
            launcher.destroyForcibly().waitFor();
        }
        assertThat(seen.get(10, TimeUnit.SECONDS).state()).isEqualTo(State.ENDED);
    }

    @Test
    void indexLeadsToJobsAndForgetsThoseThatAreGone() throws IOException {
        JobIndex index = JobIndex.in(folder.resolve("state"));
        assertThat(index.all()).isEmpty();
        for (String name : List.of("first", "second")) {
            Path logs = Files.createDirectories(folder.resolve("logs").resolve(name));
            RecordFile.write(logs, record(State.ENDED, ProcessIdentity.current()));
            index.put(name, logs);
            index.put(name, logs);
        }
        assertThat(index.all()).extracting(JobIndex.Entry::name).containsExactlyInAnyOrder("first", "second");
        Files.delete(folder.resolve("logs/first/job.txt"));
        Files.delete(folder.resolve("logs/first"));
        assertThat(index.all()).extracting(JobIndex.Entry::name).containsExactly("second");
        assertThat(folder.resolve("state/jobs/first")).doesNotExist();
        assertThat(index.find("second")).isPresent();
        assertThat(index.find("first")).isEmpty();
    }
}

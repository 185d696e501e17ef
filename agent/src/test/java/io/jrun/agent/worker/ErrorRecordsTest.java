package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.proto.WorkerErrorReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ErrorRecordsTest {
    @TempDir
    Path folder;

    @Test
    void javaRecordIsRead() throws IOException {
        assertThat(read("""
                {"message":{"message":"java.lang.IllegalStateException: no","extraInfo":
                {"java_callstack":"at A.b(A.java:1)","timestamp":"17","time_millis":17123,"rank":3}}}"""))
                .isEqualTo(WorkerErrorReport.newBuilder()
                        .setMessage("java.lang.IllegalStateException: no")
                        .setStack("at A.b(A.java:1)")
                        .build());
    }

    @Test
    void failureOfAGroupIsRead() throws IOException {
        assertThat(read("""
                {"message":{"message":"app.Failed: no","extraInfo":{"java_callstack":"s","group_failure":"rank 1 is late"}}}""").getGroupFailure()).isEqualTo("rank 1 is late");
    }

    @Test
    void crashOfAJvmIsRead() throws IOException {
        assertThat(crash("""
                #
                # A fatal error has been detected by the Java Runtime Environment:
                #
                #  SIGSEGV (0xb) at pc=0x00007fc7f311dad8, pid=27530, tid=27535
                #
                # Problematic frame:
                # C  [libc.so.6+0x167ad8]   strlen+0x18
                #
                """)).isEqualTo("SIGSEGV in native code, at [libc.so.6+0x167ad8] strlen+0x18");
        assertThat(crash("""
                #
                # A fatal error has been detected by the Java Runtime Environment:
                #
                #  Internal Error (sharedRuntime.cpp:573), pid=1, tid=2
                #  guarantee(caller.is_interpreted_frame()) failed
                #
                # Problematic frame:
                # V  [libjvm.so+0x12364ad]  Unsafe_PutInt+0xad
                """)).isEqualTo("Internal Error in the JVM, at [libjvm.so+0x12364ad] Unsafe_PutInt+0xad");
        assertThat(crash("""
                #
                # There is insufficient memory for the Java Runtime Environment to continue.
                # Native memory allocation (mmap) failed to map 65536 bytes. Error detail: Failed to commit.
                """))
                .isEqualTo("out of memory: Native memory allocation (mmap) failed to map 65536 bytes. Error detail:"
                        + " Failed to commit.");
    }

    @Test
    void recordOfTheWorkerComesBeforeACrash() throws IOException {
        Files.writeString(folder.resolve("hs_err_pid7.log"), "#  SIGBUS (0x7) at pc=0x00, pid=7, tid=7\n");
        Files.writeString(folder.resolve("error.json"), "{\"message\": \"no\"}");
        assertThat(ErrorRecords.of(folder).orElseThrow().getMessage()).isEqualTo("no");
    }

    private String crash(String report) throws IOException {
        Files.writeString(folder.resolve("hs_err_pid7.log"), report);
        return ErrorRecords.of(folder).orElseThrow().getCrash();
    }

    @Test
    void torchRecordIsRead() throws IOException {
        assertThat(read("""
                {"message": {"message": "RuntimeError: no", "extraInfo":
                {"py_callstack": "Traceback ...", "timestamp": "1700000000"}}}"""))
                .isEqualTo(WorkerErrorReport.newBuilder()
                        .setMessage("RuntimeError: no")
                        .setStack("Traceback ...")
                        .build());
    }

    @Test
    void torchRecordOfPlainTextIsRead() throws IOException {
        assertThat(read("{\"message\": \"out of cheese\"}").getMessage()).isEqualTo("out of cheese");
    }

    @Test
    void jsonOfAnotherShapeIsShownAsItIs() throws IOException {
        assertThat(read("{\"error\":1}").getMessage()).isEqualTo("{\"error\":1}");
    }

    @Test
    void textThatIsNoJsonIsShownAsSuch() throws IOException {
        assertThat(read("{\"message\": \"torn").getMessage()).endsWith("{\"message\": \"torn");
    }

    @Test
    void absentAndEmptyFilesAreNoRecord() throws IOException {
        assertThat(ErrorRecords.read(folder.resolve("none"))).isEmpty();
        assertThat(ErrorRecords.read(Files.createFile(folder.resolve("empty")))).isEmpty();
    }

    private WorkerErrorReport read(String json) throws IOException {
        Path file = Files.writeString(folder.resolve("error.json"), json);
        return ErrorRecords.read(file).orElseThrow();
    }
}

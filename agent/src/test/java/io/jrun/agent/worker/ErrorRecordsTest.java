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

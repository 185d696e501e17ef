package io.jrun.agent.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LineCutterTest {
    @TempDir
    Path folder;

    private LogFile file;
    private LineCutter cutter;

    @BeforeEach
    void open() throws IOException {
        file = new LogFile(folder.resolve("log"), Optional.empty(), () -> {});
        cutter = new LineCutter(file, false);
    }

    @AfterEach
    void close() {
        cutter.close();
        file.close();
    }

    @Test
    void givesOnlyWholeLines() throws IOException {
        write("one\ntwo\nthr");
        assertThat(all()).containsExactly("one\ntwo\n");
        write("ee\n");
        assertThat(all()).containsExactly("three\n");
        assertThat(all()).isEmpty();
    }

    @Test
    void lastLineWithoutNewlineIsGivenOne() throws IOException {
        write("a\nb");
        file.close();
        assertThat(all()).containsExactly("a\n", "b\n");
        assertThat(file.path()).hasContent("a\nb");
    }

    @Test
    void longLineStaysWhole() throws IOException {
        String line = "x".repeat(LineCutter.MAX_LINE_BYTES - 1) + "\n";
        write(line);
        assertThat(all()).containsExactly(line);
    }

    @Test
    void endlessLineComesInPiecesAndStillEndsWithANewline() throws IOException {
        String piece = "x".repeat(LineCutter.MAX_LINE_BYTES);
        write(piece + piece);
        assertThat(all()).containsExactly(piece, piece);
        file.close();
        assertThat(all()).containsExactly("\n");
        assertThat(all()).isEmpty();
    }

    @Test
    void forATerminalALineAlsoEndsAtACarriageReturn() throws IOException {
        write("10%\r20%\r3");
        assertThat(all()).isEmpty();
        try (LineCutter terminal = new LineCutter(file, true)) {
            assertThat(terminal.next().map(ByteString::toStringUtf8)).contains("10%\r20%\r");
            assertThat(terminal.next()).isEmpty();
            write("0%\n");
            assertThat(terminal.next().map(ByteString::toStringUtf8)).contains("30%\n");
        }
        assertThat(all()).containsExactly("10%\r20%\r30%\n");
    }

    @Test
    void bytesThatAreNoTextPass() throws IOException {
        byte[] bytes = {(byte) 0xff, (byte) 0xc3, 0, '\n'};
        file.write(bytes, 0, bytes.length);
        assertThat(cutter.next()).contains(ByteString.copyFrom(bytes));
    }

    @Test
    void fileShortenedByAnotherProcessIsAnError() throws IOException {
        write("text\n");
        Files.write(file.path(), new byte[0]);
        assertThatThrownBy(cutter::next).hasMessageContaining("was shortened by another process");
    }

    private void write(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        file.write(bytes, 0, bytes.length);
    }

    private List<String> all() throws IOException {
        List<String> pieces = new ArrayList<>();
        for (Optional<ByteString> piece = cutter.next(); piece.isPresent(); piece = cutter.next()) {
            pieces.add(piece.get().toStringUtf8());
        }
        return pieces;
    }
}

package io.jrun.agent.image.pull;

import com.github.luben.zstd.ZstdOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;

/** A layer that a test writes entry by entry, also such entries as no tool would write. */
final class TarLayer {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes, "UTF-8");

    TarLayer() {
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
    }

    TarLayer file(String name, String content) {
        return file(name, content, 0644);
    }

    TarLayer file(String name, String content, int mode) {
        byte[] data = content.getBytes(StandardCharsets.UTF_8);
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        entry.setSize(data.length);
        entry.setMode(mode);
        return add(entry, data);
    }

    TarLayer folder(String name) {
        TarArchiveEntry entry = new TarArchiveEntry(name + "/", TarConstants.LF_DIR, true);
        entry.setMode(0755);
        return add(entry, new byte[0]);
    }

    TarLayer link(String name, String target) {
        return special(name, TarConstants.LF_SYMLINK, target);
    }

    TarLayer hardLink(String name, String target) {
        return special(name, TarConstants.LF_LINK, target);
    }

    TarLayer special(String name, byte kind, String target) {
        TarArchiveEntry entry = new TarArchiveEntry(name, kind, true);
        entry.setLinkName(target);
        return add(entry, new byte[0]);
    }

    private TarLayer add(TarArchiveEntry entry, byte[] data) {
        try {
            tar.putArchiveEntry(entry);
            tar.write(data);
            tar.closeArchiveEntry();
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    byte[] plain() throws IOException {
        tar.finish();
        return bytes.toByteArray();
    }

    byte[] gzip() throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (OutputStream out = new GZIPOutputStream(packed)) {
            out.write(plain());
        }
        return packed.toByteArray();
    }

    byte[] zstd() throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (OutputStream out = new ZstdOutputStream(packed)) {
            out.write(plain());
        }
        return packed.toByteArray();
    }

    InputStream stream() throws IOException {
        return new ByteArrayInputStream(plain());
    }
}

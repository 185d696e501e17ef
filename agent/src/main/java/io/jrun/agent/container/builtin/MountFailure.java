package io.jrun.agent.container.builtin;

import java.nio.file.Path;
import java.util.List;

/** Makes one sentence of the output of mount, unshare and squashfuse. Stateless. */
final class MountFailure {
    private MountFailure() {}

    static String sentence(Path image, Account account, List<String> lines) {
        String said = String.join("; ", lines);
        return "the image " + image + " cannot be mounted: " + (said.isEmpty() ? "no reason was given" : said)
                + hint(account, said);
    }

    private static String hint(Account account, String said) {
        if (said.contains("unshare failed")) {
            return ". " + NamespaceRefusal.sentence(account);
        }
        if (said.contains("loop device")) {
            return ". All loop devices are in use; unpack the image with unsquashfs and name the folder";
        }
        if (said.contains("wrong fs type") || said.contains("superblock") || said.contains("squashfs")) {
            return ". The file may be damaged, or this kernel may lack its compression (see 'unsquashfs -s')";
        }
        return "";
    }
}

package io.jrun.agent.container.builtin;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** Makes one sentence of the output of mount, unshare and squashfuse. Stateless. */
final class MountFailure {
    private MountFailure() {}

    static String sentence(Path image, Account account, List<String> lines) {
        String messages = lines.stream()
                .filter(line -> !line.contains("dmesg(1)"))
                .map(line -> line.replaceFirst("\\.+$", ""))
                .collect(Collectors.joining("; "));
        return "the image " + image + " cannot be mounted: " + (messages.isEmpty() ? "no reason was given" : messages)
                + hint(account, messages);
    }

    private static String hint(Account account, String messages) {
        if (messages.contains("unshare failed")) {
            return ". " + NamespaceRefusal.sentence(account);
        }
        if (messages.contains("loop device")) {
            return ". All loop devices are in use; unpack the image with unsquashfs and name the folder";
        }
        if (messages.contains("wrong fs type") || messages.contains("superblock") || messages.contains("squashfs")) {
            return ". The file may be damaged, or this kernel may lack its compression (see 'unsquashfs -s');"
                    + " copy the file again, or make the file again";
        }
        return "";
    }
}

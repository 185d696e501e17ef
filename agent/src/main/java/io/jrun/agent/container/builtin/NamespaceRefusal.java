package io.jrun.agent.container.builtin;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Says why this process may not make namespaces, and what to do. Stateless. */
final class NamespaceRefusal {
    /** The count of uids in /proc/self/uid_map outside of all user namespaces: all uids. */
    private static final String ALL_IDS = "4294967295";

    private static final String IN_USER_NAMESPACE =
            "This process runs in a container already, and this user may not make namespaces there; start jrun "
                    + "outside, leave --container-image out to use the present container, or start the outer container "
                    + "with --container-remap-root";

    private static final String NO_CAPABILITY =
            "Root has no capability CAP_SYS_ADMIN here, as in a container without privileges; start jrun outside of "
                    + "the container, or leave --container-image out to use the present container";

    private static final String SWITCHED_OFF =
            "This user may not make user namespaces here; ask for sysctl kernel.unprivileged_userns_clone=1 and "
                    + "kernel.apparmor_restrict_unprivileged_userns=0";

    private NamespaceRefusal() {}

    /** One sentence without a dot at its end. */
    static String sentence(Account account) {
        if (account.isRoot()) {
            return hasAllIds() ? NO_CAPABILITY : IN_USER_NAMESPACE;
        }
        return hasAllIds() ? SWITCHED_OFF : IN_USER_NAMESPACE;
    }

    private static boolean hasAllIds() {
        try {
            return Files.readString(Path.of("/proc/self/uid_map")).strip().endsWith(ALL_IDS);
        } catch (IOException e) {
            return true;
        }
    }
}

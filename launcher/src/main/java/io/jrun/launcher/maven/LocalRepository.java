package io.jrun.launcher.maven;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * The local repository of the user's Maven, which Gradle's {@code mavenLocal()} reads too.
 *
 * @param folder absolute
 */
public record LocalRepository(Path folder) {
    private static final Pattern PROPERTY = Pattern.compile("-Dmaven\\.repo\\.local=(\\S+)");

    /** In {@code settings.xml}: ${user.home} and ${env.NAME}. */
    private static final Pattern REFERENCE = Pattern.compile("\\$\\{(user\\.home|env\\.(\\w+))}");

    private static final List<String> JAR_FOLDERS = List.of("lib/maven", "lib/runtime", "lib/s3", "lib/tokenizers");

    /** A pom of lib/maven: artifact, version. */
    private static final Pattern POM = Pattern.compile("(jrun(?:-[a-z][a-z0-9]*)+)-(\\d.*)\\.pom");

    /**
     * Finds the repository as Maven does: {@code -Dmaven.repo.local} in MAVEN_ARGS or MAVEN_OPTS, else the {@code
     * localRepository} of the user's settings, else {@code ~/.m2/repository}.
     *
     * @param user the home folder of the user, {@code user.home} of a JVM
     */
    public static LocalRepository of(Map<String, String> environment, Path user) {
        Path folder = Stream.of("MAVEN_ARGS", "MAVEN_OPTS")
                .map(name -> PROPERTY.matcher(environment.getOrDefault(name, "")))
                .filter(Matcher::find)
                .map(found -> found.group(1))
                .findFirst()
                .or(() -> ofSettings(user.resolve(".m2/settings.xml")).map(text -> resolved(text, environment, user)))
                .map(Path::of)
                .orElse(user.resolve(".m2/repository"));
        return new LocalRepository(folder.toAbsolutePath());
    }

    private static Optional<String> ofSettings(Path settings) {
        if (!Files.isReadable(settings)) {
            return Optional.empty();
        }
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        try (InputStream in = Files.newInputStream(settings)) {
            XMLStreamReader reader = factory.createXMLStreamReader(in);
            while (reader.hasNext()) {
                if (reader.next() == XMLStreamReader.START_ELEMENT
                        && reader.getLocalName().equals("localRepository")) {
                    return Optional.of(reader.getElementText().strip()).filter(text -> !text.isEmpty());
                }
            }
            return Optional.empty();
        } catch (IOException | XMLStreamException e) {
            throw new UsageException("init: Maven's settings in " + settings + " cannot be read: "
                    + String.valueOf(e.getMessage()).lines().findFirst().orElse("") + ".");
        }
    }

    private static String resolved(String text, Map<String, String> environment, Path user) {
        return REFERENCE
                .matcher(text)
                .replaceAll(found -> Matcher.quoteReplacement(
                        found.group(2) == null ? user.toString() : environment.getOrDefault(found.group(2), "")));
    }

    /**
     * Installs jrun's artifacts: the poms of {@code home/lib/maven}, and their jars, which lie in several folders of
     * {@code home/lib}. Files that are the same already stay.
     *
     * @throws UsageException if the installation has no poms, or the repository cannot be written; one line
     */
    public void install(Path home) throws IOException {
        Path poms = home.resolve("lib/maven");
        List<Path> found = Files.isDirectory(poms) ? list(poms) : List.<Path>of();
        if (found.isEmpty()) {
            throw new UsageException("init: the installation in " + home + " has no lib/maven/*.pom.");
        }
        List<Path> jars = JAR_FOLDERS.stream().map(home::resolve).toList();
        for (Path pom : found) {
            Matcher name = POM.matcher(pom.getFileName().toString());
            if (name.matches()) {
                install(name.group(1), name.group(2), pom, jars);
            }
        }
    }

    private void install(String artifact, String version, Path pom, List<Path> folders) throws IOException {
        Path target = folder.resolve("io/jrun").resolve(artifact).resolve(version);
        String jar = artifact + "-" + version + ".jar";
        try {
            Files.createDirectories(target);
            for (Path found : folders.stream().map(place -> place.resolve(jar)).toList()) {
                if (Files.exists(found)) {
                    replace(found, target.resolve(jar));
                }
            }
            replace(pom, target.resolve(artifact + "-" + version + ".pom"));
        } catch (IOException e) {
            throw new UsageException("init: Maven's local repository " + folder + " cannot be written: "
                    + FileError.reason(e, target) + ".");
        }
    }

    /** A Maven that runs now reads either the old or the new file. */
    private static void replace(Path source, Path target) throws IOException {
        if (!Files.exists(target) || Files.mismatch(source, target) >= 0) {
            OutputFile.replace(target, out -> Files.copy(source, out));
        }
    }

    private static List<Path> list(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }
}

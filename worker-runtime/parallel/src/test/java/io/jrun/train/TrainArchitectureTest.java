package io.jrun.train;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

@AnalyzeClasses(packages = "io.jrun.train", importOptions = DoNotIncludeTests.class)
class TrainArchitectureTest {
    @ArchTest
    static final ArchRule ONLY_JSON_USES_JACKSON = noClasses()
            .that()
            .resideOutsideOfPackage("io.jrun.train.json")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("com.fasterxml.jackson..");

    @ArchTest
    static final ArchRule TRAIN_STANDS_ON_COMM_AND_LIBTORCH_ALONE = noClasses()
            .should()
            .dependOnClassesThat()
            .resideOutsideOfPackages(
                    "io.jrun.train..",
                    "io.jrun.comm",
                    "io.jrun.comm.backend",
                    "io.jrun.comm.cuda",
                    "io.jrun.comm.elastic",
                    "io.jrun.comm.file",
                    "io.jrun.comm.timeline",
                    "org.bytedeco..",
                    "com.fasterxml.jackson.core..",
                    "java..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES =
            SlicesRuleDefinition.slices().matching("io.jrun.(**)").should().beFreeOfCycles();

    /** Each package has a row in docs/architecture.md, and uses no package of a row above its own. */
    @ArchTest
    static void dependenciesRunDownTheTableOfTheDocuments(JavaClasses train) throws IOException {
        Map<String, Integer> rows = documentedRows();
        for (JavaClass type : train) {
            String from = type.getPackageName();
            int row = rows.getOrDefault(from, -1);
            assertThat(row).as("row of %s in docs/architecture.md", from).isNotNegative();
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                String to = dependency.getTargetClass().getPackageName();
                assertThat(rows.getOrDefault(to, Integer.MAX_VALUE))
                        .as("row of %s in docs/architecture.md: %s", to, dependency.getDescription())
                        .isGreaterThanOrEqualTo(row);
            }
        }
    }

    private static Map<String, Integer> documentedRows() throws IOException {
        String page = Files.readString(Path.of("../../docs/architecture.md"));
        String section = page.split("### io\\.jrun\\.train, [^\n]*\n", 2)[1].split("\n### ", 2)[0];
        List<String> lines =
                section.lines().filter(line -> line.startsWith("| `")).toList();
        var rows = new HashMap<String, Integer>();
        rows.put("io.jrun.train", lines.size());
        for (int row = 0; row < lines.size(); row++) {
            for (String name :
                    lines.get(row).split("\\|", -1)[1].replaceAll("[` ]", "").split(",", -1)) {
                rows.put("io.jrun.train." + name, row);
            }
        }
        return rows;
    }

    @ArchTest
    static final ArchRule DDP_DATA_AND_CHECKPOINTS_DO_NOT_KNOW_EACH_OTHER = noClasses()
            .that()
            .resideInAPackage("io.jrun.train.ddp")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.jrun.train.data", "io.jrun.train.checkpoint");

    @ArchTest
    static final ArchRule ONLY_COMM_READS_THE_ENVIRONMENT = noClasses()
            .that()
            .haveNameNotMatching(".*\\.(NativeCache|Libtorch|LibtorchBuild|LibtorchReport)") // places of the user and
            // of CUDA
            .should()
            .callMethod(System.class, "getenv")
            .orShould()
            .callMethod(System.class, "getenv", String.class)
            .orShould()
            .callMethod(System.class, "exit", int.class)
            .orShould()
            .callMethod(Thread.class, "sleep", long.class);

    /** A read of a number stops the host until the device has done its work. DeviceWaits counts the reads. */
    @ArchTest
    static final ArchRule STEPS_READ_TENSORS_IN_ONE_PLACE = noClasses()
            .that()
            .resideInAnyPackage(
                    "io.jrun.train.ddp..",
                    "io.jrun.train.reducer",
                    "io.jrun.train.optim",
                    "io.jrun.train.precision",
                    "io.jrun.train.layer")
            .should()
            .callMethodWhere(
                    target(nameMatching("item(_.*)?|cpu")).and(target(owner(name("org.bytedeco.pytorch.Tensor")))));
}

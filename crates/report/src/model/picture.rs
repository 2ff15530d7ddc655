//! Pictures of the report model: charts as series with their axes, units, intervals and marks. How they are drawn is a face's.

use super::format;
use super::table::Value;

/// A chart of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Picture {
    /// A bar for each run, or several for each level.
    Bars(BarChart),
    /// Lines over one axis.
    Lines(LineChart),
    /// Strips over one time axis.
    Strips(Panel),
    /// Things by two figures.
    Scatter(Scatter),
}

/// Larger values have no place on any axis, and those below one by it none on a logarithmic one: their round neighbours may be no numbers any
/// more.
pub const LARGEST: f64 = 1e300;

impl Picture {
    /// A chart of the lines that have spots.
    pub fn lines(title: impl Into<String>, x: Axis, y: Axis, mut lines: Vec<Line>) -> Self {
        lines.retain(|line| !line.spots.is_empty());
        Self::Lines(LineChart { title: title.into(), x, y, lines, mark: None })
    }

    /// What it shows.
    pub fn title(&self) -> &str {
        match self {
            Self::Bars(chart) => &chart.title,
            Self::Lines(chart) => &chart.title,
            Self::Strips(panel) => &panel.title,
            Self::Scatter(chart) => &chart.title,
        }
    }

    /// True if nothing in it has a place.
    pub fn is_empty(&self) -> bool {
        let is_drawable = |value: f64| value.abs() <= LARGEST;
        match self {
            Self::Bars(chart) => !chart.bars().any(|bar| is_drawable(bar.value.value)),
            Self::Lines(chart) => {
                let has_place = |spot: &Spot| chart.x.kind.has_place(spot.x) && chart.y.kind.has_place(spot.y);
                !chart.lines.iter().flat_map(|line| &line.spots).any(has_place)
            }
            Self::Strips(panel) => {
                let has_place = |strip: &Strip| {
                    let mut steps = strip.series.iter().flat_map(|series| &series.steps);
                    steps.any(|(from, to, value)| from < to && strip.axis.kind.has_place(*value))
                };
                !panel.strips.iter().any(has_place)
            }
            Self::Scatter(chart) => chart.shown().next().is_none(),
        }
    }
}

/// An axis: what it shows, with the unit, and how it spreads.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub title: String,
    /// How it spreads its values.
    pub kind: Kind,
    /// Where it has ticks; empty for round values.
    pub ticks: Vec<f64>,
}

/// How an axis spreads its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole positions from the first to the last.
    Index,
    /// Time from the start, which is zero, to the last value.
    Elapsed,
    /// From zero, so that heights can be compared.
    FromZero,
    /// Logarithmic; values that are not positive have no place on it.
    Log,
    /// Dates as days since 1970, from the first to the last.
    Date,
    /// Percentiles: a value is one in how many is beyond, so that 90, 99 and 99.9 % are equally far apart.
    Tail,
}

impl Kind {
    /// True if equal distances are equal ratios.
    pub const fn is_logarithmic(self) -> bool {
        matches!(self, Self::Log | Self::Tail)
    }

    /// True if the axis has a place for the value.
    pub fn has_place(self, value: f64) -> bool {
        value.abs() <= LARGEST && (!self.is_logarithmic() || value >= 1.0 / LARGEST)
    }
}

impl Axis {
    /// An axis with ticks at round values.
    pub fn new(title: impl Into<String>, kind: Kind) -> Self {
        Self { title: title.into(), kind, ticks: Vec::new() }
    }
}

/// Bars of one figure, alone or in groups.
#[derive(Debug, Clone, PartialEq)]
pub struct BarChart {
    /// What it shows.
    pub title: String,
    /// What the axis shows, with the unit.
    pub axis: String,
    /// What the bars of a group are, in their order; empty where each bar stands alone.
    pub series: Vec<String>,
    /// The groups from top to bottom.
    pub groups: Vec<Group>,
    /// What all bars are held to, if they are.
    pub limit: Option<f64>,
}

/// Bars that stand together.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The bars with the places of their series.
    pub bars: Vec<(usize, Bar)>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The owner; that of a bar that stands alone is the name of its group.
    pub label: String,
    /// How long it is, and its interval.
    pub value: Value,
    /// What it should be, in the same unit.
    pub expected: Option<f64>,
}

impl BarChart {
    /// A chart of bars that each stand alone.
    pub fn plain(title: impl Into<String>, axis: String, bars: impl IntoIterator<Item = Bar>) -> Self {
        let groups = bars.into_iter().map(|bar| Group { name: bar.label.clone(), bars: vec![(0, bar)] });
        Self { title: title.into(), axis, series: Vec::new(), groups: groups.collect(), limit: None }
    }

    /// All bars.
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars).map(|(_, bar)| bar)
    }

    /// Name of a bar of this group: its owner, behind the group where that has several.
    pub fn name(&self, group: &Group, bar: &Bar) -> String {
        if self.series.is_empty() { bar.label.clone() } else { format!("{}, {}", group.name, bar.label) }
    }
}

/// A chart of lines.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// A position that is marked.
    pub mark: Option<Mark>,
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// How it is drawn.
    pub look: Look,
    /// Its points, sorted by `x`.
    pub spots: Vec<Spot>,
}

/// A point of a series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spot {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value; where it is not a number the line has a gap.
    pub y: f64,
    /// Least and greatest of the values behind it.
    pub range: Option<(f64, f64)>,
    /// What it is.
    pub label: String,
    /// Reasons to read it with care.
    pub flags: Vec<String>,
}

/// How a series is drawn. Series of the same number belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Measured values, with markers.
    Measured(usize),
    /// Measured values of a member of a family: the family's colour, the member's dash and marker.
    Member(usize, usize),
    /// Measured values behind a smoothed line: thin and pale.
    Behind(usize),
    /// A smoothed line.
    Smooth(usize),
    /// A line that was not measured, to compare with.
    Guide,
}

/// A marked position on the horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// Its interval.
    pub band: Option<(f64, f64)>,
    /// What it is.
    pub label: String,
}

/// Things by two figures, each as a disc whose area is a third one.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What the area of a disc is.
    pub area: String,
    /// The things. The largest have their names beside them where there is room.
    pub discs: Vec<Disc>,
}

/// One thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Disc {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub tone: Tone,
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// How large it is beside the others.
    pub area: f64,
    /// All that is known of it.
    pub about: String,
}

impl Scatter {
    /// The discs that have a place, the largest first.
    pub fn shown(&self) -> impl Iterator<Item = &Disc> {
        let has_place = |disc: &&Disc| {
            self.x.kind.has_place(disc.x) && self.y.kind.has_place(disc.y) && disc.area > 0.0 && disc.area <= LARGEST
        };
        let mut shown: Vec<&Disc> = self.discs.iter().filter(has_place).collect();
        shown.sort_by(|one, other| other.area.total_cmp(&one.area));
        shown.into_iter()
    }
}

/// Strips over one time axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// From and to, in seconds.
    pub span: (f64, f64),
    /// Segments of time with a name, above the strips.
    pub bands: Vec<Band>,
    /// What the bands are.
    pub bands_title: String,
    /// The strips from top to bottom.
    pub strips: Vec<Strip>,
    /// About so many pieces a course is drawn in at most: as means, with the lowest and highest value behind them.
    pub pieces: usize,
    /// What the lines are held against, and what was not known.
    pub notes: Vec<String>,
}

/// A segment of time with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// From, in seconds.
    pub from: f64,
    /// To.
    pub to: f64,
    /// Its colour.
    pub tone: Tone,
    /// Its name, and shorter ones.
    pub names: Vec<String>,
    /// All that is known of it.
    pub about: String,
}

/// A colour by its number; `None` is grey. Things that belong together have one colour in all strips.
pub type Tone = Option<usize>;

/// What is drawn in the colour of text.
pub const INK: Tone = Some(6);

/// A strip.
#[derive(Debug, Clone, PartialEq)]
pub struct Strip {
    /// Its vertical axis.
    pub axis: Axis,
    /// How its series are drawn.
    pub shape: Shape,
    /// A value that is marked by a line and that the axis reaches.
    pub mark: Option<f64>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Times about which nothing is known.
    pub gaps: Vec<Gap>,
}

/// How the series of a strip are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each as a line.
    Lines,
    /// On top of each other, the first at the bottom. They have the same steps.
    Stack,
}

/// A course of values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub tone: Tone,
    /// Dash of its line, or shade of its area.
    pub variant: usize,
    /// From, to and the value that holds there, by time; NaN where it is not known.
    pub steps: Vec<(f64, f64, f64)>,
}

/// A time about which nothing is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// From, in seconds.
    pub from: f64,
    /// To.
    pub to: f64,
    /// Why.
    pub reason: String,
}

impl Series {
    /// Mean over the time in which it is known, lowest and highest value; `None` if it never is.
    pub fn summary(&self) -> Option<(f64, f64, f64)> {
        let known = || self.steps.iter().filter(|(from, to, value)| value.is_finite() && to > from);
        let seconds: f64 = known().map(|(from, to, _)| to - from).sum();
        let mean = known().map(|(from, to, value)| value * ((to - from) / seconds)).sum();
        let (low, high) =
            known().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (.., v)| (low.min(*v), high.max(*v)));
        (low <= high).then_some((mean, low, high))
    }

    /// The course in words.
    pub fn about(&self) -> String {
        let text = |value| format::number(value).unwrap_or_default();
        self.summary().map_or_else(
            || self.name.clone(),
            |(mean, low, high)| format!("{}: mean {}, {} to {}", self.name, text(mean), text(low), text(high)),
        )
    }
}
